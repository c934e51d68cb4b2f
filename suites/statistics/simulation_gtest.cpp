// The decision on simulated machines: no false alarms, changes found, and a model under which other rules do fail.
#include "suites/statistics/simulation.hpp"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace mla::suites {
namespace {

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

// Were the machine tamer than real ones, the rules above would prove nothing.
TEST(Simulated, OtherRulesCryWolfOrSeeNothing) {
  EXPECT_GT(run("compare.py", "same build", 1).false_alarms, 100);
  EXPECT_GT(run("LNT", "same build", 1).false_alarms, 2);
  EXPECT_LT(run("means differ", "6 slower by 3 %", 4).found, 2);
}

}  // namespace
}  // namespace mla::suites
