// The decision on simulated machines: no false alarms, changes found, and a model under which other rules do fail.
#include "suites/statistics/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "reports/statistics/decision.hpp"
#include "reports/statistics/median.hpp"

namespace mla::suites {
namespace {

namespace statistics = reports::statistics;

Tally run(std::string_view rule, std::string_view scenario, int rounds = 2) {
  const auto all = rules();
  const auto named = std::find_if(all.begin(), all.end(), [&](const Rule& one) { return one.name.starts_with(rule); });
  const auto cases = scenarios();
  const auto place = std::find_if(cases.begin(), cases.end(), [&](const auto& one) { return one.name == scenario; });
  EXPECT_TRUE(named != all.end() && place != cases.end()) << rule << scenario;
  return simulate({*named}, *place, rounds).at(0);
}

/// Each way of this project to measure two builds.
class Ours : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Each, Ours, ::testing::Values("`compare`, two", "`compare` with", "12 interleaved", "`pair`"),
                         [](const auto& rule) { return "Rule" + std::to_string(rule.index); });

TEST_P(Ours, SameBuildTwiceRaisesNoAlarm) {
  EXPECT_LE(run(GetParam(), "same build").false_alarms, 0.5);
}

TEST_P(Ours, FivePercentIsFoundWithAndWithoutHiccups) {
  for (const char* scenario : {"6 slower by 5 %", "6 by 5 %, hiccups"}) {
    const Tally tally = run(GetParam(), scenario);
    EXPECT_GE(tally.found, 5) << scenario;
    EXPECT_LE(tally.false_alarms, 0.7) << scenario;
  }
}

TEST_P(Ours, LoneRegressionOfThreeHundredIsFound) {
  EXPECT_GE(run(GetParam(), "1 slower by 5 %").found, 0.6);
}

TEST(Simulated, ThreePercentNeedsPairs) {
  EXPECT_GE(run("`pair`", "6 slower by 3 %", 4).found, run("`compare`, two", "6 slower by 3 %", 4).found + 0.5);
}

TEST(Simulated, ClockStepRaisesNoAlarmWithCanariesOrPairs) {
  // With the drift it is near the limit of what canaries put up with: refused, or taken off.
  const Tally canaries = run("`compare` with", "clock 2 % lower", 4);
  EXPECT_GT(canaries.refused, 0);
  EXPECT_LE(canaries.false_alarms, 0.5);
  EXPECT_LE(run("`pair`", "clock 2 % lower").false_alarms, 0.5);
}

/// 95 % interval of the mean by resampling: the percentiles of 1,000 means.
statistics::Interval bootstrapped(const std::vector<double>& values, std::mt19937_64& random) {
  std::vector<double> means;
  for (int i = 0; i < 1000; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < values.size(); ++k) sum += values[random() % values.size()];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::sort(means.begin(), means.end());
  return {means[24], means[974]};
}

/// Shares of the cases of a machine, all slower by 5 %, whose interval holds the truth.
struct Coverage {
  double shown = 0;         // the one that reports carry
  double bootstrapped = 0;  // of the same pairs
};
Coverage coverage(int pairs) {
  const double truth = std::log(1.05);
  Machine machine({}, 11);
  const Sessions sessions = machine.interleaved(std::vector<double>(1000, truth), pairs, 20);
  std::vector<statistics::Effect> effects;
  std::mt19937_64 random(5);
  Coverage share;
  const auto holds = [truth](const auto& interval) { return interval.low <= truth && truth <= interval.high; };
  for (std::size_t i = 0; i < sessions.base.size(); ++i) {
    std::vector<double> differences;
    for (std::size_t k = 0; k < static_cast<std::size_t>(pairs); ++k) {
      differences.push_back(
          std::log(statistics::median(sessions.next[i][k]) / statistics::median(sessions.base[i][k])));
    }
    effects.push_back(statistics::paired_effect(differences, 0.02));
    share.bootstrapped += holds(bootstrapped(differences, random)) ? 1e-3 : 0;
  }
  for (const auto& decision : statistics::decide(effects)) share.shown += holds(decision.ci95) ? 1e-3 : 0;
  return share;
}

// Why reports show the moderated t interval: six pairs are too few to resample.
TEST(Interval, CoversTheTruthWhereABootstrapOfSoFewPairsDoesNot) {
  const Coverage six = coverage(6);
  EXPECT_NEAR(six.shown, 0.95, 0.02);
  EXPECT_LT(six.bootstrapped, 0.90);
  const Coverage sixteen = coverage(16);
  EXPECT_NEAR(sixteen.shown, 0.95, 0.02);
  EXPECT_LT(sixteen.bootstrapped, sixteen.shown);
}

// Were the machine tamer than real ones, the rules above would prove nothing.
TEST(Simulated, OtherRulesCryWolfOrSeeNothing) {
  EXPECT_GT(run("compare.py", "same build", 1).false_alarms, 100);
  EXPECT_GT(run("LNT", "same build", 1).false_alarms, 2);
  EXPECT_LT(run("means differ", "6 slower by 3 %", 4).found, 2);
}

}  // namespace
}  // namespace mla::suites
