// Tier S: are the errors of out spread as independent roundings would spread them? Detail of check_decode and of
// metamorphic.
#pragma once

#include <optional>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/failure_text.hpp"
#include "harness/checks/output_rows.hpp"

namespace mla::harness::checks {

/// What tier S may judge.
struct SpreadScope {
  bool rows = true;
  bool slope = true;
  double slope_floor = 0;  // the least that is allowed of the slope
};
[[nodiscard]] SpreadScope spread_scope(Distribution distribution, const Precision& precision);

/// Tier S of one run.
struct SpreadJudgement {
  TierResult tier;
  SpreadResult figures;
  std::vector<RowSpread> worst;  // by falling ratio, at most TensorFindings::kWorstRows
  std::vector<CheckFailure> failures;
};
[[nodiscard]] SpreadJudgement judge_spread(const std::vector<RowSpread>& rows, const SpreadScope& scope,
                                           const RowPlaces& places);

}  // namespace mla::harness::checks
