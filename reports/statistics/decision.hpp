// Slower, faster, the same, or not enough launches to tell: decided for all cases of a comparison together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reports/statistics/median.hpp"
#include "reports/statistics/multiplicity.hpp"

namespace mla::reports::statistics {

/// The change of one case: logarithm of the time in NEW over that in BASE, from one number a launch.
struct Effect {
  double estimate = 0;      // Hodges-Lehmann: what is shown
  double mean = 0;          // of the winsorised values: what is tested
  double sd = 0;            // of one launch (unpaired), or of one pair's difference
  double degrees = 0;       // of freedom in `sd`
  double error_per_sd = 0;  // standard error of `mean` is sd times this
  double margin = 0;        // a change of this size matters, > 0
};

/// From pairs of launches that ran side by side: `differences` of the logarithms, at least two.
[[nodiscard]] Effect paired_effect(std::span<const double> differences, double margin);

/// From the logarithms of launches of two separate sessions, at least two each; one variance for both.
[[nodiscard]] Effect unpaired_effect(std::span<const double> next, std::span<const double> base, double margin);

/// The effect without a change that is known to have another cause.
[[nodiscard]] Effect shifted(Effect effect, double by);

enum class Outcome : std::uint8_t { same, improved, regressed, inconclusive };

struct Decision {
  Outcome outcome = Outcome::inconclusive;
  double p_slower = 1;  // of a change this large or larger where the true one is at most the margin
  double p_faster = 1;
  Interval ci95;                 // of the change, around `mean`
  double detectable_change = 0;  // what 80 % of such comparisons would flag at a 5 % level, were it the only case
};

struct DecisionOptions {
  /// False discovery rate of either direction, and level of each of the two tests that SAME needs.
  double level = 0.05;
  Dependence dependence = Dependence::positive;  // among the cases' errors
  /// Weight of the cases' common variance in each case's own, in degrees of freedom. A case's few launches tell its
  /// variance badly; many cases of one machine tell each other's. Used from kMinCasesToShare cases on: fewer would
  /// count their own variance twice.
  double shared_degrees = 4;
};
inline constexpr std::size_t kMinCasesToShare = 10;

/// Moderated t tests against each case's margin, both directions, each under a step-up over all cases
/// (multiplicity.hpp). SAME where two one-sided tests place the change within the margin (at a level of 0.05: the 90 %
/// interval lies inside it). One decision an effect, in order.
[[nodiscard]] std::vector<Decision> decide(std::span<const Effect> effects, const DecisionOptions& options = {});

}  // namespace mla::reports::statistics
