// The estimators and the decision against worked examples; simulated machines are in suites/statistics.
#include "reports/statistics/decision.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/statistics/median.hpp"
#include "reports/statistics/multiplicity.hpp"
#include "reports/statistics/robust.hpp"

namespace mla::reports::statistics {
namespace {

using ::testing::ElementsAre;

TEST(Median, OddAndEven) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Median, RanksOfTheIntervalAreThoseOfTheSignTest) {
  // Critical values of the two-sided sign test at 5 %, plus one.
  EXPECT_EQ(median_rank(1), 1U);
  EXPECT_EQ(median_rank(6), 1U);
  EXPECT_EQ(median_rank(9), 2U);
  EXPECT_EQ(median_rank(12), 3U);
  EXPECT_EQ(median_rank(20), 6U);
  EXPECT_EQ(median_rank(100), 40U);
  EXPECT_NEAR(static_cast<double>(median_rank(501)), static_cast<double>(median_rank(500)), 1);
}

TEST(Robust, HodgesLehmann) {
  EXPECT_DOUBLE_EQ(hodges_lehmann(std::vector<double>{1, 2, 6}), 2.75);                               // 1 1.5 2 3.5 4 6
  EXPECT_DOUBLE_EQ(hodges_lehmann_shift(std::vector<double>{5, 9}, std::vector<double>{1, 2}), 5.5);  // 4 3 8 7
}

TEST(Robust, WinsorisedMovesTheHiccupAndNothingElse) {
  const auto moved = winsorised(std::vector<double>{1.0, 2.0, 3.0, 4.0, 100.0});
  EXPECT_THAT(std::vector(moved.begin(), moved.end() - 1), ElementsAre(1, 2, 3, 4));
  EXPECT_DOUBLE_EQ(moved.back(), 3 + 3 * 1.4826);
  EXPECT_THAT(winsorised(std::vector<double>{1, 1, 1, 1, 5}), ElementsAre(1, 1, 1, 1, 5)) << "no spread to judge by";
}

TEST(StepUp, PublishedExample) {
  // Benjamini & Hochberg 1995, section 3.2: four of fifteen at q = 0.05.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const auto rejected = step_up(p, 0.05);
  EXPECT_EQ(std::count(rejected.begin(), rejected.end(), true), 4);
}

TEST(StepUp, EdgesOfTheRule) {
  EXPECT_THAT(step_up(std::vector<double>{0.05}, 0.05), ElementsAre(true)) << "equality rejects";
  EXPECT_THAT(step_up(std::vector<double>{0.9, 0.8}, 0.05), ElementsAre(false, false)) << "k = 0";
  EXPECT_THAT(step_up(std::vector<double>{0.04, 0.05}, 0.05), ElementsAre(true, true)) << "step-up";
  EXPECT_THAT(step_up(std::vector<double>{0.01, 0.01, 0.9}, 0.05), ElementsAre(true, true, false));
  EXPECT_TRUE(step_up(std::vector<double>{}, 0.05).empty());
}

TEST(StepUp, ArbitraryDependenceDividesByTheHarmonicNumber) {
  // Of m = 3: 0.05 / (1 + 1/2 + 1/3) = 0.02727, a third of which is 0.00909.
  const auto arbitrary = [](double first, double second) {
    return step_up(std::vector<double>{first, second, 0.9}, 0.05, Dependence::arbitrary);
  };
  EXPECT_THAT(arbitrary(0.0090, 0.03), ElementsAre(true, false, false));
  EXPECT_THAT(arbitrary(0.0092, 0.03), ElementsAre(false, false, false));
  EXPECT_THAT(arbitrary(0.0092, 0.018), ElementsAre(true, true, false)) << "2/3 of 0.02727 is 0.01818";
  EXPECT_THAT(step_up(std::vector<double>{0.05}, 0.05, Dependence::arbitrary), ElementsAre(true)) << "one test is one";
}

TEST(Decide, AStricterLevelNeedsANarrowerIntervalForTheSame) {
  // Mean 0, sd 0.01, four pairs: the interval at level a is t(3, 1 - a) * 0.005; t is 2.3534 and 3.1824.
  const double d = 0.01 * std::sqrt(0.75);
  const auto outcome = [d](double margin, double level) {
    const auto effect = paired_effect(std::vector<double>{-d, -d, d, d}, margin);
    return decide(std::vector{effect}, {.level = level}).at(0).outcome;
  };
  EXPECT_EQ(outcome(0.0118, 0.05), Outcome::same);
  EXPECT_EQ(outcome(0.0117, 0.05), Outcome::inconclusive);
  EXPECT_EQ(outcome(0.0118, 0.025), Outcome::inconclusive);
  EXPECT_EQ(outcome(0.0160, 0.025), Outcome::same);
}

TEST(Decide, TAndIntervalOfAWorkedExample) {
  // Four pairs, mean 0.03, sd 0.01: T = (0.03 - 0.02) / (0.01 / 2) = 2 at 3 degrees; P(t > 2) = 0.0697.
  const double d = 0.01 * std::sqrt(0.75);
  const auto effect = paired_effect(std::vector<double>{0.03 - d, 0.03 - d, 0.03 + d, 0.03 + d}, 0.02);
  EXPECT_NEAR(effect.sd, 0.01, 1e-12);
  const auto decision = decide(std::vector{effect}).at(0);
  EXPECT_NEAR(decision.p_slower, 0.06966, 1e-5);
  EXPECT_NEAR(decision.ci95.high, 0.03 + 3.18245 * 0.005, 1e-7);
  EXPECT_EQ(decision.outcome, Outcome::inconclusive);
  EXPECT_NEAR(decision.detectable_change, 0.02 + (2.35336 + 0.97847) * 0.005, 1e-7);
}

TEST(Decide, LaunchesWithoutAnySpreadAreDecided) {
  const std::vector<double> base(6, 1.0);
  const auto outcome = [&](double shift) {
    const std::vector<double> next(6, 1.0 + shift);
    return decide(std::vector{unpaired_effect(next, base, 0.02)}).at(0).outcome;
  };
  EXPECT_EQ(outcome(0), Outcome::same);
  EXPECT_EQ(outcome(0.05), Outcome::regressed);
  EXPECT_EQ(outcome(-0.05), Outcome::improved);
}

}  // namespace
}  // namespace mla::reports::statistics
