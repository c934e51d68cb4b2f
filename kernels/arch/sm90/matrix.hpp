// Fragments of mma.sync m16n8k16 on Hopper, for bf16 and for e4m3fn KV.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/instructions.hpp"
#include "kernels/arch/sm90/pipeline.hpp"
#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

namespace detail {

MLA_DEVICE int lane_of_wave() {
  return static_cast<int>(threadIdx.x) % 32;
}

/// What both operand types share.
struct MatrixBase {
  static constexpr int kOutputColumns = 16;
  static constexpr int kScoreWidth = 2;

  struct Output {
    float v[2][4] = {};
  };

  // Rows x 32 bytes of a tile: 8 rows x 16 bytes each of rows 0-7, 8-15, then the same of the second 16 bytes. For
  // 16-bit elements, the left operand of a product.
  static MLA_DEVICE void load_left(std::uint32_t (&r)[4], const std::byte* tile, int pitch, int row, int byte) {
    const int lane = lane_of_wave();
    ldmatrix_x4(r, tile + (row + lane % 16) * pitch + byte + lane / 16 * 16);
  }
};

}  // namespace detail

/// f16 holds P times 2^15, so that its small values stay normal: what is lost below is half of 2^-24 of that.
inline constexpr int kF16ProbabilityExponent = 15;
inline constexpr float kF16ProbabilityFloor = 0x1p-40F;

template <DataType kQuery, DataType kKv>
struct Matrix;

/// bf16 throughout.
template <>
struct Matrix<DataType::bf16, DataType::bf16> : detail::MatrixBase {
  static constexpr int kKeyDepth = 32;
  static constexpr int kScoreColumns = 8;
  static constexpr int kScoreVectors = 2;
  static constexpr int kValueDepth = 16;
  static constexpr int kOutputVectors = 4;
  static constexpr int kOutputWidth = 2;
  static constexpr bool kScalesQuery = false;
  static constexpr DataType kProbabilityType = DataType::bf16;
  static constexpr float kProbabilityFloor = 0;
  static constexpr int kProbabilityExponent = 0;
  static constexpr int kPitch = TileLayout<kHeadDim * 2>::kPitch;

  using Probability = std::uint16_t;
  struct Query {
    std::uint32_t v[2][4];
  };
  struct Key {
    std::uint32_t v[4];
  };
  /// Two accumulators of the same 16x8 block, for even and odd products: a chain of dependent products would wait for
  /// the latency of each.
  struct Scores {
    float v[2][4] = {};
  };
  struct Probabilities {
    std::uint32_t v[4];
  };
  struct Values {
    std::uint32_t v[4];
  };

  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    load_left(query.v[0], tile, kPitch, row, dim * 2);
    load_left(query.v[1], tile, kPitch, row, dim * 2 + 32);
  }
  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    const int lane = detail::lane_of_wave();
    ldmatrix_x4(key.v, tile + (token + lane % 8) * kPitch + dim * 2 + lane / 8 * 16);
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
    mma_bf16(scores.v[0], query.v[0], key.v[0], key.v[1]);
    mma_bf16(scores.v[1], query.v[1], key.v[2], key.v[3]);
  }
  static MLA_DEVICE int score_row(int lane, int vector) { return lane / 4 + vector * 8; }
  static MLA_DEVICE int score_column(int lane, int /*vector*/) { return lane % 4 * 2; }
  static MLA_DEVICE float score(const Scores& scores, int vector, int element) {
    return scores.v[0][vector * 2 + element] + scores.v[1][vector * 2 + element];
  }

  static MLA_DEVICE void load_probabilities(Probabilities& p, const std::byte* tile, int pitch, int row, int token) {
    load_left(p.v, tile, pitch, row, token * 2);
  }
  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
    const int lane = detail::lane_of_wave();
    ldmatrix_x4_trans(values.v, tile + (token + lane % 16) * kPitch + dim * 2 + lane / 16 * 16);
  }
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
    mma_bf16(output.v[0], p.v, values.v[0], values.v[1]);
    mma_bf16(output.v[1], p.v, values.v[2], values.v[3]);
  }

  static MLA_DEVICE int output_row(int lane, int vector) { return lane / 4 + vector % 2 * 8; }
  static MLA_DEVICE int output_column(int lane, int vector) { return lane % 4 * 2 + vector / 2 * 8; }
  static MLA_DEVICE float& output(Output& o, int vector, int element) {
    return o.v[vector / 2][vector % 2 * 2 + element];
  }

  template <int kCount>
  static MLA_DEVICE void store_probabilities(Probability* destination, const float (&p)[kCount]) {
    static_assert(kCount % 2 == 0);
#pragma unroll
    for (int i = 0; i < kCount; i += 2) *reinterpret_cast<std::uint32_t*>(destination + i) = bf16x2(p[i], p[i + 1]);
  }
};

/// e4m3fn KV: bytes become f16, which holds every e4m3 value exactly, between shared memory and the product, and the
/// product accumulates in float32. Hopper's own e4m3 product is not used: it keeps only about 14 bits of the sum
/// (DeepSeek-V3 report, section 3.3.2), which shows in the logits.
/// P is f16 too.
template <DataType kQuery>
struct Matrix<kQuery, DataType::e4m3fn> : detail::MatrixBase {
  static_assert(kQuery == DataType::bf16 || kQuery == DataType::e4m3fn);
  static constexpr int kKeyDepth = 32;
  static constexpr int kScoreColumns = 16;
  static constexpr int kScoreVectors = 4;
  static constexpr int kValueDepth = 32;
  static constexpr int kOutputVectors = 2;
  static constexpr int kOutputWidth = 4;
  static constexpr bool kScalesQuery = kQuery == DataType::bf16;
  static constexpr DataType kProbabilityType = DataType::bf16;  // f16 is finer, but for its range
  static constexpr float kProbabilityFloor = kF16ProbabilityFloor;
  static constexpr int kProbabilityExponent = kF16ProbabilityExponent;
  static constexpr int kPitch = TileLayout<kHeadDim>::kPitch;

  using Probability = std::uint16_t;
  struct Query {
    std::uint32_t v[2][4];
  };
  struct Key {
    std::uint32_t v[4];
  };
  struct Scores {
    float v[2][4] = {};  // columns 0..7, 8..15
  };
  struct Probabilities {
    std::uint32_t v[2][4];
  };
  struct Values {
    std::uint32_t v[4];
  };

  // A 16-byte unit of a row holds the 16 dims of one product. ldmatrix gives lane t of a row bytes 4t..4t+3, so the
  // product's k order is a permutation of the dims, the same for q and KV.
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    static_assert(kQuery == DataType::e4m3fn);
    std::uint32_t r[4];
    load_left(r, tile, kPitch, row, dim);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      query.v[i / 2][i % 2] = f16x2_from_low(r[i]);
      query.v[i / 2][i % 2 + 2] = f16x2_from_high(r[i]);
    }
  }
  /// `scales[row]` is the power of two that brings the row of q into f16's range.
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim, const float* scales) {
    static_assert(kQuery == DataType::bf16);
    constexpr int kQueryPitch = TileLayout<kHeadDim * 2>::kPitch;
    const int lane = detail::lane_of_wave();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = row + half * 8 + lane / 4;
      const float scale = scales[r];
#pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        const auto raw = *reinterpret_cast<const uint2*>(tile + r * kQueryPitch + (dim + unit * 16 + lane % 4 * 4) * 2);
        query.v[unit][half] = scaled_f16x2(raw.x, scale);
        query.v[unit][half + 2] = scaled_f16x2(raw.y, scale);
      }
    }
  }
  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    load_left(key.v, tile, kPitch, token, dim);
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      mma_f16(scores.v[i % 2], query.v[i / 2], f16x2_from_low(key.v[i]), f16x2_from_high(key.v[i]));
    }
  }
  static MLA_DEVICE int score_row(int lane, int vector) {
    return lane / 4 + vector % 2 * 8;
  }
  static MLA_DEVICE int score_column(int lane, int vector) {
    return lane % 4 * 2 + vector / 2 * 8;
  }
  static MLA_DEVICE float score(const Scores& scores, int vector, int element) {
    return scores.v[vector / 2][vector % 2 * 2 + element];
  }

  static MLA_DEVICE void load_probabilities(Probabilities& p, const std::byte* tile, int pitch, int row, int token) {
    load_left(p.v[0], tile, pitch, row, token * 2);
    load_left(p.v[1], tile, pitch, row, token * 2 + 32);
  }
  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
    const int lane = detail::lane_of_wave();
    ldmatrix_x4_trans(values.v, tile + (token + lane) * kPitch + dim);
  }
  // A transposed pair holds dims 2g, 2g+1 of tokens 2t, 2t+1: the even dims make one product's columns, the odd ones
  // the other's.
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
    std::uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __byte_perm(values.v[i], 0, 0x3120);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      mma_f16(output.v[0], p.v[step], f16x2_from_low(pairs[2 * step]), f16x2_from_low(pairs[2 * step + 1]));
      mma_f16(output.v[1], p.v[step], f16x2_from_high(pairs[2 * step]), f16x2_from_high(pairs[2 * step + 1]));
    }
  }

  static MLA_DEVICE int output_row(int lane, int vector) {
    return lane / 4 + vector * 8;
  }
  static MLA_DEVICE int output_column(int lane, int /*vector*/) {
    return lane % 4 * 4;
  }
  static MLA_DEVICE float& output(Output& o, int vector, int element) {
    return o.v[element % 2][vector * 2 + element / 2];
  }

  template <int kCount>
  static MLA_DEVICE void store_probabilities(Probability* destination, const float (&p)[kCount]) {
    static_assert(kCount % 2 == 0);
#pragma unroll
    for (int i = 0; i < kCount; i += 2) *reinterpret_cast<std::uint32_t*>(destination + i) = f16x2(p[i], p[i + 1]);
  }

 private:
  static MLA_DEVICE std::uint32_t scaled_f16x2(std::uint32_t pair, float scale) {
    return f16x2(__uint_as_float(pair << 16) * scale, __uint_as_float(pair & 0xffff0000U) * scale);
  }
};

}  // namespace mla::sm90
