// One work of the plan, carried out in one core's cache.
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "harness/providers/eigen/row_tile.hpp"
#include "harness/providers/eigen/split_plan.hpp"
#include "mla/decode.hpp"

namespace mla::harness::eigen {

/// Holds the float32 copies that a core works on: 48 tokens, and up to kRowsPerWork query rows with their accumulators.
class WorkRunner {
 public:
  WorkRunner();

  /// Attends the work's rows to its tokens. The results stay until the next call.
  void run(const DecodeInputs& inputs, const Work& work);

  /// Result of row `row_begin + index` of the work last run: 512 values, 0 where no token was visible.
  void copy_out(int index, float* values) const;
  /// Its log-sum-exp, -inf where no token was visible.
  [[nodiscard]] float lse(int index) const;

 private:
  void begin_rows(const DecodeInputs& inputs, const Work& work);
  void begin_row(const DecodeInputs& inputs, const Work& work, int row);
  void widen_tokens(const DecodeInputs& inputs, const Work& work, std::int64_t first, int count);

  static constexpr int kTiles = kRowsPerWork / kTileRows;

  Eigen::ArrayXf tokens_;              // [kTileTokens, kTokenStride]
  Eigen::ArrayXf floats_;              // what the row tiles point into
  std::vector<std::int64_t> visible_;  // likewise
  std::vector<RowTile> storage_;       // kTiles full tiles
  std::vector<RowTile> tiles_;         // those of the current work
  float value_scale_ = 1;
};

}  // namespace mla::harness::eigen
