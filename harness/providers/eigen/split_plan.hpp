// How the eigen provider cuts a batch into independent pieces of work.
#pragma once

#include <cstdint>
#include <vector>

#include "mla/decode.hpp"

namespace mla::harness::eigen {

/// Workers planned for unless the problem names a number. A constant, not this machine's core count: the cut decides
/// the order of summation, and results must be the same bits on every machine of one instruction set.
inline constexpr int kPlannedWorkers = 64;

/// Query rows of one work at most. Their float32 accumulators (2 KiB a row) should stay in a core's cache.
inline constexpr int kRowsPerWork = 128;

/// Tokens widened and multiplied together. A multiple of every micro-kernel's block (see row_tile.hpp).
inline constexpr int kTileTokens = 48;

/// Rows [row_begin, row_end) of a request against its tokens [kv_begin, kv_end). Row r is query token r / H, head r %
/// H.
struct Work {
  std::int32_t request = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::int64_t kv_begin = 0;
  std::int64_t kv_end = 0;
  std::int64_t partial_row = kWhole;  // where its partial results begin

  static constexpr std::int64_t kWhole = -1;  // the only work on its rows: it writes the output itself
};

/// Rows of a request that `splits` works contribute to. Split s of row r is partial row
/// partial_row + s * (row_end - row_begin) + r - row_begin.
struct Merge {
  std::int32_t request = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::int64_t partial_row = 0;
  std::int32_t splits = 0;
};

struct SplitPlan {
  std::vector<Work> works;  // most expensive first
  std::vector<Merge> merges;
  std::int64_t partial_rows = 0;
};

/// Tokens that one work should take of a batch whose row groups see `total_tokens` in all: enough that its fixed costs
/// (transposing q, writing and merging a partial result) stay small, few enough that every worker has something to do.
/// Always a multiple of kTileTokens.
[[nodiscard]] std::int64_t tokens_per_work(std::int64_t total_tokens, int workers);

/// Positions that query token `q` of a request sees: [0, visible).
[[nodiscard]] constexpr std::int64_t visible_tokens(std::int64_t kv_len, std::int32_t q_len, std::int32_t q,
                                                    bool causal) {
  const std::int64_t seen = causal ? kv_len - q_len + q + 1 : kv_len;
  return seen < 0 ? 0 : seen;
}

/// Cuts the batch. `workers` 0 means kPlannedWorkers; `split_limit` 0 means no limit on the splits of a request.
[[nodiscard]] SplitPlan make_split_plan(const DecodeInputs& inputs, int workers, int split_limit);

}  // namespace mla::harness::eigen
