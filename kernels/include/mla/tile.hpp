// The one rule that maps (element types, heads, query length) to the tile a decode kernel works on. Buffer sizes, the
// plan and the kernel dispatch all call it: two copies of such a rule that drifted apart have silently corrupted
// results in public MLA stacks (vllm#46997, vllm#45227).
#pragma once

#include <cstdint>

#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla {

/// What a target's decode kernels can hold. A tile is `rows` query rows (rows = heads x query tokens, token-major) by
/// `tokens` KV tokens a step.
struct TileLimits {
  std::int32_t min_rows = 16;      // power of two: rows of the smallest matrix instruction
  std::int32_t max_rows = 64;      // power of two: the float32 accumulator [rows, 512] must fit the registers
  std::int32_t max_rows_fp8 = 64;  // the same where q and KV are both fp8
  std::int32_t tokens = 64;        // power of two: KV tokens a step, the granularity in which requests are cut
};

/// Limits of the shipped targets.
inline constexpr TileLimits kTileLimitsSm90{16, 128, 128, 64};
inline constexpr TileLimits kTileLimitsGfx942{16, 64, 64, 32};
inline constexpr TileLimits kTileLimitsGfx950{16, 64, 64, 32};

struct TileShape {
  std::int32_t rows = 0;    // query rows of one tile: 16, 32, 64 or 128
  std::int32_t tokens = 0;  // KV tokens of one step; works begin at multiples of it
};

/// The smallest tile that holds all heads x max_q_len rows of a request, or the target's largest where none does.
/// `max_q_len` is the longest query of the LIMITS, not of the batch at hand: it is known on the host without a
/// synchronisation and fixed for a captured graph.
[[nodiscard]] constexpr TileShape tile_shape(DataType q, DataType kv, std::int32_t heads, std::int32_t max_q_len,
                                             const TileLimits& limits) {
  const std::int32_t largest = is_fp8(q) && is_fp8(kv) ? limits.max_rows_fp8 : limits.max_rows;
  const std::int32_t needed = heads * max_q_len;
  std::int32_t rows = limits.min_rows;
  while (rows < needed && rows < largest) rows *= 2;
  return {rows, limits.tokens};
}

/// Number of row tiles of a request with `q_len` query tokens.
[[nodiscard]] constexpr std::int32_t row_tiles(std::int32_t heads, std::int32_t q_len, std::int32_t tile_rows) {
  return (heads * q_len + tile_rows - 1) / tile_rows;
}

}  // namespace mla
