#include "harness/checks/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "mla/shape.hpp"
#include "reference/error_model.hpp"

namespace mla::harness::checks {

namespace {

using Limits = reference::StatisticalLimits;

struct Sums {
  std::int64_t rows = 0;
  double square = 0;
  // Of rows in which several tokens weigh.
  std::int64_t mixed_rows = 0;
  double out_ref = 0;
  double ref_square = 0;
  double slope_variance = 0;  // of out_ref
};

Sums sum(const std::vector<RowSpread>& rows) {
  Sums sums;
  for (const RowSpread& row : rows) {
    if (!row.counted) continue;
    ++sums.rows;
    sums.square += row.square_sum;
    if (!row.mixes) continue;
    ++sums.mixed_rows;
    sums.out_ref += row.out_ref;
    sums.ref_square += row.ref_square;
    sums.slope_variance += row.gain_variance;
  }
  return sums;
}

SpreadResult figures_of(const std::vector<RowSpread>& rows, const SpreadScope& scope) {
  const Sums sums = sum(rows);
  SpreadResult figures;
  for (const RowSpread& row : rows) {
    if (!row.counted) continue;
    figures.row_rms = std::max(figures.row_rms, row.rms);
    figures.z_max = std::max(figures.z_max, row.z_max);
  }
  if (sums.rows > 0) figures.rms = std::sqrt(sums.square / static_cast<double>(sums.rows * kValueDim));
  if (sums.ref_square == 0) return figures;
  figures.slope = sums.out_ref / sums.ref_square;
  figures.slope_error = std::sqrt(sums.slope_variance) / sums.ref_square;
  if (scope.slope && sums.mixed_rows >= Limits::kSlopeRows) {
    figures.slope_limit = std::max(scope.slope_floor, Limits::kSlopeSigmas * *figures.slope_error);
  }
  return figures;
}

std::vector<RowSpread> worst_of(const std::vector<RowSpread>& rows) {
  std::vector<RowSpread> worst(std::min<std::size_t>(rows.size(), TensorFindings::kWorstRows));
  const auto end = std::partial_sort_copy(rows.begin(), rows.end(), worst.begin(), worst.end(),
                                          [](const RowSpread& a, const RowSpread& b) { return a.ratio() > b.ratio(); });
  worst.erase(std::find_if(worst.begin(), end, [](const RowSpread& row) { return !row.counted; }), worst.end());
  return worst;
}

CheckFailure rows_failure(const std::vector<RowSpread>& rows, const RowSpread& worst, const RowPlaces& places) {
  const auto over = std::count_if(rows.begin(), rows.end(), [](const RowSpread& row) { return row.ratio() > 1; });
  if (worst.rms <= Limits::kRowRms && worst.z_max <= Limits::kElement) {
    return {"lse_spread",
            fmt::format("lse of {} errs {:.3g} times as much as independent rounding explains; {} of {} rows "
                        "affected",
                        places.text(worst.row), worst.lse_ratio, over, rows.size())};
  }
  return {"spread",
          fmt::format("errors of {} are {:.3g} times as large as independent rounding explains (limit {}), at most "
                      "{:.3g} times (limit {}) at dim {}: got {:.6g}, reference {:.6g}; {} of {} rows affected",
                      places.text(worst.row), worst.rms, Limits::kRowRms, worst.z_max, Limits::kElement, worst.dim,
                      worst.got, worst.ref, over, rows.size())};
}

CheckFailure slope_failure(const SpreadResult& figures) {
  return {"slope", fmt::format("`out` is {:.5f} times the reference on average, within {:.2g} of 1 is allowed",
                               *figures.slope, *figures.slope_limit)};
}

}  // namespace

SpreadScope spread_scope(Distribution distribution, const Precision& precision) {
  const double floor = Limits::slope(precision.probabilities);
  if (!is_fp8(precision.probabilities)) return {.slope_floor = floor};
  const bool averages =
      distribution == Distribution::randn || distribution == Distribution::sharp || distribution == Distribution::heavy;
  return {.rows = distribution != Distribution::uniform, .slope = averages, .slope_floor = floor};
}

SpreadJudgement judge_spread(const std::vector<RowSpread>& rows, const SpreadScope& scope, const RowPlaces& places) {
  SpreadJudgement judgement;
  judgement.tier.name = "stat";
  judgement.figures = figures_of(rows, scope);
  judgement.worst = worst_of(rows);
  if (!scope.rows && !judgement.figures.slope_limit) {
    judgement.tier.verdict = TierVerdict::skipped;
    return judgement;
  }
  double& ratio = judgement.tier.max_ratio;
  if (scope.rows && !judgement.worst.empty()) {
    ratio = judgement.worst.front().ratio();
    if (ratio > 1) judgement.failures.push_back(rows_failure(rows, judgement.worst.front(), places));
  }
  if (const auto& limit = judgement.figures.slope_limit) {
    const double slope_ratio = std::abs(*judgement.figures.slope - 1) / *limit;
    ratio = std::max(ratio, slope_ratio);
    if (slope_ratio > 1) judgement.failures.push_back(slope_failure(judgement.figures));
  }
  if (!judgement.failures.empty()) judgement.tier.verdict = TierVerdict::failed;
  return judgement;
}

}  // namespace mla::harness::checks
