// The inner loops of flash-decoding: a tile of query rows, one row a SIMD lane, against a tile of widened KV tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/providers/eigen/packet.hpp"
#include "harness/providers/eigen/split_plan.hpp"
#include "mla/shape.hpp"

namespace mla::harness::eigen {

/// Query rows of a full tile: 16, the head count of DeepSeek-V3 at TP8, whatever the lane count.
inline constexpr int kTileRows = kLanes > 16 ? kLanes : 16;

/// float32 between the beginnings of two widened tokens. The extra cache line spreads a column of the tile over all
/// cache sets; without it, 2304 bytes apart, the tokens would share a quarter of them.
inline constexpr int kTokenStride = kHeadDim + 16;

/// One tile of query rows and its running softmax. Lane r of every packet belongs to row r.
struct RowTile {
  int width = kTileRows;            // W, lanes: kTileRows, or kLanes where the rows fit in one packet
  float* q = nullptr;               // [576, W]
  float* out = nullptr;             // [512, W] not yet divided by `sum`
  float* max = nullptr;             // [W] largest logit so far, kNoLogit before the first
  float* sum = nullptr;             // [W]
  std::int64_t* visible = nullptr;  // [W] tokens that the row sees, counted from the request's begin
  std::int64_t least_visible = 0;   // the smallest of them over the tile's rows
};

/// Stands for the maximum of no logits. Finite, so that subtracting it from itself is 0 rather than NaN.
inline constexpr float kNoLogit = -3.0e38F;

namespace detail {

// Accumulators of the micro-kernel: enough independent sums to hide the latency of a fused multiply-add (8 on current
// cores), few enough for the register file (16 registers, or 32 with AVX-512).
template <int V>
inline constexpr int kBlock = (kLanes == 16 ? 24 : 12) / V;

// How a product begins: from zero, from what is there, or from what is there times a factor a row.
enum class Begin : std::uint8_t { zero, as_is, scaled };

// C[m][lane] = begin + sum_k A(m, k) B[k][lane] for M rows m, V packets of lanes.
// A(m, k) = a[m * AM + k * AK]; rows of B and C are V packets.
template <int M, int V, int AM, int AK, Begin begin>
inline void multiply_block(const float* a, const float* b, int depth, float* c, const float* factor) {
  constexpr int W = V * kLanes;
  Packet sums[M][V];
#pragma GCC unroll 32
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      float* at = c + m * W + v * kLanes;
      if constexpr (begin == Begin::zero) sums[m][v] = broadcast(0.0F);
      if constexpr (begin == Begin::as_is) sums[m][v] = load(at);
      if constexpr (begin == Begin::scaled) sums[m][v] = mul(load(at), load(factor + v * kLanes));
    }
  }
  for (int k = 0; k < depth; ++k) {
    Packet row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = load(b + k * W + v * kLanes);
#pragma GCC unroll 32
    for (int m = 0; m < M; ++m) {
      const Packet element = broadcast(a + m * AM + k * AK);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[m][v] = fma(element, row[v], sums[m][v]);
    }
  }
#pragma GCC unroll 32
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(c + m * W + v * kLanes, sums[m][v]);
  }
}

// The same for any number of rows m: whole blocks, then what is left in halves.
template <int M, int V, int AM, int AK, Begin begin>
inline void multiply(int rows, const float* a, const float* b, int depth, float* c, const float* factor) {
  int m = 0;
  for (; m + M <= rows; m += M) multiply_block<M, V, AM, AK, begin>(a + m * AM, b, depth, c + m * V * kLanes, factor);
  if constexpr (M > 1) {
    if (m < rows) {
      multiply<M / 2, V, AM, AK, begin>(rows - m, a + m * AM, b, depth, c + m * V * kLanes, factor);
    }
  }
}

// Logits [tokens, W] -> probabilities relative to the new maximum; updates max and sum, and gives the factor that what
// was summed before must be multiplied by. Where `masked`, row r sees the first visible[r] tokens only, and the others
// get probability 0.
template <int V, bool masked>
inline void softmax(const RowTile& tile, float* logits, int tokens, float scale, const float* visible, float* factor) {
  constexpr int W = V * kLanes;
  const Packet scales = broadcast(scale);
  for (int v = 0; v < V; ++v) {
    float* column = logits + v * kLanes;
    const auto is_visible = [limit = load(visible + v * kLanes)](int n) {
      return !masked ? Packet{} : less(broadcast(static_cast<float>(n)), limit);
    };
    const Packet before = load(tile.max + v * kLanes);
    Packet largest = before;
    for (int n = 0; n < tokens; ++n) {
      Packet logit = mul(load(column + n * W), scales);
      if constexpr (masked) logit = select(is_visible(n), logit, broadcast(kNoLogit));
      store(column + n * W, logit);
      largest = max(largest, logit);
    }
    Packet sum = broadcast(0.0F);
    for (int n = 0; n < tokens; ++n) {
      Packet p = exp(sub(load(column + n * W), largest));
      if constexpr (masked) p = select(is_visible(n), p, broadcast(0.0F));
      store(column + n * W, p);
      sum = add(sum, p);
    }
    const Packet shrink = exp(sub(before, largest));
    store(factor + v * kLanes, shrink);
    store(tile.max + v * kLanes, largest);
    store(tile.sum + v * kLanes, fma(load(tile.sum + v * kLanes), shrink, sum));
  }
}

// Both products of one tile of rows with one tile of tokens, the softmax between them.
template <int V>
inline void attend(const RowTile& tile, const float* tokens, int count, std::int64_t first_token, float scale) {
  constexpr int W = V * kLanes;
  constexpr int kHalf = kHeadDim / 2;
  alignas(64) float probabilities[kTileTokens * W];
  alignas(64) float factor[W];
  alignas(64) float visible[W] = {};

  // C[token][row]. In two halves of the 576 dimensions, so that the half of q stays in the first-level cache.
  multiply<kBlock<V>, V, kTokenStride, 1, Begin::zero>(count, tokens, tile.q, kHalf, probabilities, nullptr);
  multiply<kBlock<V>, V, kTokenStride, 1, Begin::as_is>(count, tokens + kHalf, tile.q + kHalf * W, kHalf, probabilities,
                                                        nullptr);
  if (first_token + count > tile.least_visible) {
    for (int r = 0; r < W; ++r) {
      // Relative to this tile and clamped: a float32 holds no position above 2^24 exactly.
      visible[r] = static_cast<float>(std::clamp<std::int64_t>(tile.visible[r] - first_token, 0, count));
    }
    softmax<V, true>(tile, probabilities, count, scale, visible, factor);
  } else {
    softmax<V, false>(tile, probabilities, count, scale, visible, factor);
  }
  // C[dimension][row]: V is the first 512 dimensions of the same tokens, read by columns.
  multiply<kBlock<V>, V, 1, kTokenStride, Begin::scaled>(kValueDim, tokens, probabilities, count, tile.out, factor);
}

}  // namespace detail

/// Adds `count` widened tokens [count, kTokenStride], at positions from `first_token` on, to the tile's running
/// softmax. `scale` turns products of unscaled elements into logits.
inline void attend(const RowTile& tile, const float* tokens, int count, std::int64_t first_token, float scale) {
  if (tile.width == kLanes) return detail::attend<1>(tile, tokens, count, first_token, scale);
  detail::attend<kTileRows / kLanes>(tile, tokens, count, first_token, scale);
}

}  // namespace mla::harness::eigen
