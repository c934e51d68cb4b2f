#include "reports/compare.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/floors.hpp"
#include "reports/margins.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::Change;
using reports::compare;
using reports::CompareExit;
using reports::CompareOptions;
using reports::Speed;
using reports::Tally;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

reports::Report report_of(const std::vector<Json>& cases) {
  return reports::parse_report(example_report(cases));
}

Json timed(double ns, int launches = 8, double spread = 0.002) {
  return timed_case("decode:b=1", "eigen", example_performance(ns, launches, spread));
}

// --- exit codes ------------------------------------------------------------

struct ExitRow {
  Tally tally;
  CompareExit plain;
  CompareExit allow_missing;
  CompareExit strict;
};

TEST(CompareExitCode, GravestAnswerWins) {
  using enum CompareExit;
  const auto tally = [](std::size_t wrong, std::size_t missing, std::size_t invalid, std::size_t regressed,
                        std::size_t inconclusive, std::size_t unexpected, std::size_t matched) {
    return Tally{wrong, missing, invalid, regressed, inconclusive, unexpected, matched};
  };
  const std::vector<ExitRow> rows = {
      {tally(0, 0, 0, 0, 0, 0, 9), ok, ok, ok},
      {tally(0, 0, 0, 0, 1, 0, 9), ok, ok, regression},
      {tally(0, 0, 0, 0, 0, 1, 9), ok, ok, regression},
      {tally(0, 0, 0, 1, 0, 0, 9), regression, regression, regression},
      {tally(0, 0, 1, 0, 0, 0, 9), invalid, invalid, invalid},
      {tally(0, 0, 1, 1, 1, 1, 9), invalid, invalid, invalid},
      {tally(0, 1, 0, 0, 0, 0, 9), missing_cases, ok, missing_cases},
      {tally(0, 1, 0, 0, 1, 0, 9), missing_cases, ok, missing_cases},
      {tally(0, 1, 0, 1, 0, 0, 9), missing_cases, regression, missing_cases},
      {tally(0, 1, 1, 1, 0, 0, 9), missing_cases, invalid, missing_cases},
      {tally(1, 0, 0, 0, 0, 0, 9), wrong_result, wrong_result, wrong_result},
      {tally(1, 1, 1, 1, 1, 1, 9), wrong_result, wrong_result, wrong_result},
      {tally(1, 0, 0, 0, 0, 0, 0), wrong_result, wrong_result, wrong_result},
      {tally(0, 0, 0, 0, 0, 0, 0), invalid, invalid, invalid},
      {tally(0, 3, 0, 0, 0, 0, 0), missing_cases, invalid, missing_cases},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(exit_code(rows[i].tally, false, false), rows[i].plain) << "row " << i;
    EXPECT_EQ(exit_code(rows[i].tally, true, false), rows[i].allow_missing) << "row " << i;
    EXPECT_EQ(exit_code(rows[i].tally, false, true), rows[i].strict) << "row " << i;
  }
}

/// Every pair of verdicts: exit 0 exactly where nothing is wrong and nothing vanished.
TEST(CompareExitCode, NeverZeroOnAWrongResultOrAVanishedCase) {
  const Json anchor = example_case("decode:b=9", "eigen");
  for (const Verdict base : reports::kVerdicts) {
    for (const Verdict next : reports::kVerdicts) {
      const auto comparison = compare(report_of({anchor, example_case("decode:b=1", "eigen", base)}),
                                      report_of({anchor, example_case("decode:b=1", "eigen", next)}));
      const bool wrong = reports::is_wrong(next) || (next == Verdict::known_failure && base == Verdict::passed);
      const bool vanished = reports::is_unchecked(next) && !reports::is_unchecked(base);
      const CompareExit expected = wrong      ? CompareExit::wrong_result
                                   : vanished ? CompareExit::missing_cases
                                              : CompareExit::ok;
      EXPECT_EQ(comparison.exit(), expected) << reports::name_of(base) << " -> " << reports::name_of(next);
    }
    const auto gone = compare(report_of({anchor, example_case("decode:b=1", "eigen", base)}), report_of({anchor}));
    EXPECT_EQ(gone.exit(), CompareExit::missing_cases) << reports::name_of(base);
    const auto added = compare(report_of({anchor}), report_of({anchor, example_case("decode:b=1", "eigen", base)}));
    EXPECT_EQ(added.exit(), reports::is_wrong(base) ? CompareExit::wrong_result : CompareExit::ok);
  }
}

TEST(Compare, NothingInCommonIsInvalidEvenWhereMissingIsAllowed) {
  const CompareOptions options{.allow_missing = true};
  const auto disjoint = compare(report_of({example_case("decode:b=1", "eigen")}),
                                report_of({example_case("decode:b=2", "eigen")}), options);
  EXPECT_EQ(disjoint.exit(), CompareExit::invalid);
  EXPECT_EQ(compare(report_of({}), report_of({})).exit(), CompareExit::invalid);
}

// --- correctness ------------------------------------------------------------

TEST(Compare, NamesWhatBecameOfEachCase) {
  const auto change = [](std::optional<Verdict> base, std::optional<Verdict> next) {
    std::vector<Json> a;
    std::vector<Json> b;
    if (base) a.push_back(example_case("decode:b=1", "eigen", *base));
    if (next) b.push_back(example_case("decode:b=1", "eigen", *next));
    return compare(report_of(a), report_of(b)).cases.at(0).change;
  };
  using enum Verdict;
  EXPECT_EQ(change(passed, passed), Change::unchanged);
  EXPECT_EQ(change(passed, failed), Change::wrong);
  EXPECT_EQ(change(std::nullopt, crashed), Change::wrong);
  EXPECT_EQ(change(failed, mistrusted), Change::still_wrong);
  EXPECT_EQ(change(failed, passed), Change::fixed);
  EXPECT_EQ(change(passed, std::nullopt), Change::missing);
  EXPECT_EQ(change(passed, skipped), Change::unchecked);
  EXPECT_EQ(change(failed, unimplemented), Change::unchecked);
  EXPECT_EQ(change(skipped, unimplemented), Change::unchanged);
  EXPECT_EQ(change(skipped, passed), Change::changed);
  EXPECT_EQ(change(known_failure, passed), Change::changed);
  EXPECT_EQ(change(known_failure, unexpected_pass), Change::changed);
  EXPECT_EQ(change(failed, known_failure), Change::changed);
  EXPECT_EQ(change(passed, known_failure), Change::wrong);
  EXPECT_EQ(change(std::nullopt, passed), Change::added);
}

// --- speed ------------------------------------------------------------

Speed speed(const Json& base, const Json& next, const CompareOptions& options = {}) {
  return compare(report_of({base}), report_of({next}), options).cases.at(0).speed;
}

TEST(CompareSpeed, ManyLaunches) {
  EXPECT_EQ(speed(timed(1e6), timed(1e6)), Speed::same);
  EXPECT_EQ(speed(timed(1e6), timed(1.01e6)), Speed::same);
  EXPECT_EQ(speed(timed(1e6), timed(1.05e6)), Speed::regressed);
  EXPECT_EQ(speed(timed(1.05e6), timed(1e6)), Speed::improved);
  EXPECT_EQ(speed(timed(1e6), timed(1.02e6)), Speed::inconclusive) << "on the margin";
  EXPECT_EQ(speed(timed(1e6, 8, 0.1), timed(1.05e6, 8, 0.1)), Speed::inconclusive) << "noisier than the change";
  EXPECT_EQ(speed(timed(1e6), timed(1.05e6), {.margin = 0.1}), Speed::same);
}

TEST(CompareSpeed, ChangesBelowTheClocksGranularityDoNotCount) {
  EXPECT_EQ(speed(timed(2000), timed(2200)), Speed::same) << "10 %, but 0.2 us";
  EXPECT_EQ(speed(timed(2000), timed(3000)), Speed::regressed) << "1 us";
  EXPECT_EQ(speed(timed(2000), timed(2200), {.floor_ns = 0}), Speed::regressed);
}

TEST(CompareSpeed, FewLaunchesAreNeverCalledTheSameAndFlaggedOnlyBeyondTheWideMargin) {
  EXPECT_EQ(speed(timed(1e6, 1), timed(1e6, 1)), Speed::inconclusive);
  EXPECT_EQ(speed(timed(1e6, 4), timed(1.1e6, 8)), Speed::inconclusive);
  EXPECT_EQ(speed(timed(1e6, 1), timed(1.2e6, 1)), Speed::inconclusive);
  EXPECT_EQ(speed(timed(1e6, 1), timed(1.3e6, 1)), Speed::regressed);
  EXPECT_EQ(speed(timed(1.3e6, 1), timed(1e6, 1)), Speed::improved);
  EXPECT_EQ(speed(timed(1e6, 1), timed(1.3e6, 1), {.margin = 0.5}), Speed::inconclusive);
}

TEST(CompareSpeed, FewLaunchesAreSaidToBeFew) {
  const auto comparison = compare(report_of({timed(1e6, 1)}), report_of({timed(1e6, 8)}));
  EXPECT_THAT(comparison.notes,
              ::testing::Contains("1 case of fewer than 5 launches a side: only a change beyond 25 % is judged"));
  EXPECT_THAT(compare(report_of({timed(1e6)}), report_of({timed(1e6)})).notes, ::testing::IsEmpty());
}

TEST(CompareSpeed, RatioAndItsIntervalComeFromTheRawSamples) {
  const auto comparison = compare(report_of({timed(1e6)}), report_of({timed(1.05e6)}));
  const auto& ratio = comparison.cases.at(0).ratio.value();
  EXPECT_NEAR(ratio.estimate, 1.05, 1e-6);
  EXPECT_LT(ratio.low, 1.05);
  EXPECT_GT(ratio.high, 1.05);
  EXPECT_NEAR(ratio.base_ns, 1e6, 1);
  EXPECT_EQ(ratio.next_launches, 8U);
}

TEST(CompareSpeed, OtherMachineIsInvalidUnlessNoTimesAreCompared) {
  Json other = example_report({timed(1e6)});
  other["environment"]["fingerprint"] = "0000";
  const auto comparison = compare(report_of({timed(1e6)}), reports::parse_report(other));
  EXPECT_EQ(comparison.cases.at(0).speed, Speed::invalid);
  EXPECT_EQ(comparison.exit(), CompareExit::invalid);

  other["run"]["mode"] = "C";
  other["cases"][0]["performance"] = nullptr;
  EXPECT_EQ(compare(report_of({timed(1e6)}), reports::parse_report(other)).exit(), CompareExit::ok);
}

class Incomparable : public ::testing::TestWithParam<std::pair<const char*, Json>> {};

TEST_P(Incomparable, IsInvalidWithANote) {
  Json changed = timed(1e6);
  changed.at(Json::json_pointer(GetParam().first)) = GetParam().second;
  const auto comparison = compare(report_of({timed(1e6)}), report_of({changed}));
  EXPECT_EQ(comparison.cases.at(0).speed, Speed::invalid);
  EXPECT_NE(comparison.cases.at(0).note, "");
  EXPECT_EQ(comparison.exit(), CompareExit::invalid);
}

INSTANTIATE_TEST_SUITE_P(Each, Incomparable,
                         ::testing::Values(std::pair{"/performance/timer", Json("hip_event")},
                                           std::pair{"/performance/cache", Json("rotate:512MiB")},
                                           std::pair{"/input_digest", Json("1111")}, std::pair{"/device", Json("gpu")},
                                           std::pair{"/performance", Json(nullptr)}));

TEST(CompareSpeed, WrongKernelHasNoSpeed) {
  EXPECT_EQ(speed(timed(1e6), example_case("decode:b=1", "eigen", Verdict::failed)), Speed::not_compared);
}

// --- margins, floors, canaries, paths
// ---------------------------------------------------------------------------------

/// A case of a problem and provider, eight launches around `ns`.
Json path(int problem, const char* provider, double ns) {
  return timed_case(fmt::format("decode:b={}", problem), provider, example_performance(ns, 8));
}

reports::Comparison compare_cases(const std::vector<Json>& base, const std::vector<Json>& next,
                                  const reports::Margins& margins = {}) {
  return compare(report_of(base), report_of(next), {.margins = margins});
}

TEST(CompareMargins, FirstRuleThatMatchesACaseDecides) {
  reports::Margins margins;
  margins.rules = {{"decode:b=1 *", 0.10, "noisy"}, {"* @eigen", 0.20, "never reached by b=1"}};
  EXPECT_EQ(compare_cases({path(1, "eigen", 1e6)}, {path(1, "eigen", 1.05e6)}, margins).cases[0].speed, Speed::same);
  EXPECT_EQ(compare_cases({path(1, "eigen", 1e6)}, {path(1, "eigen", 1.15e6)}, margins).cases[0].speed,
            Speed::regressed);
  EXPECT_EQ(compare_cases({path(1, "torch", 1e6)}, {path(1, "torch", 1.15e6)}, margins).cases[0].speed,
            Speed::regressed);
  EXPECT_EQ(compare_cases({path(2, "torch", 1e6)}, {path(2, "torch", 1.05e6)}, margins).cases[0].speed,
            Speed::regressed)
      << "no rule: the usual margin";
}

TEST(CompareMargins, FloorCountsOneAndAHalfTimesOnItsOwnMachine) {
  reports::Margins margins;
  margins.floors = {example_header()["environment"]["fingerprint"], 20, {{"decode:b=1 @eigen", {}}}};
  auto& changes = margins.floors.changes["decode:b=1 @eigen"];
  for (int i = 0; i < 19; ++i) changes.push_back(0.04);
  changes.push_back(0.5);  // one of twenty lies beyond the 95 % quantile
  const auto by = [&](double ns) {
    return compare_cases({path(1, "eigen", 1e6)}, {path(1, "eigen", ns)}, margins).cases[0];
  };
  EXPECT_NEAR(by(1.05e6).ratio->margin, std::expm1(0.06), 1e-12);
  EXPECT_EQ(by(1.05e6).speed, Speed::same);
  EXPECT_EQ(by(1.08e6).speed, Speed::regressed);
  margins.floors.fingerprint = "another";
  EXPECT_EQ(by(1.05e6).speed, Speed::regressed);
  EXPECT_THAT(compare_cases({path(1, "eigen", 1e6)}, {path(1, "eigen", 1e6)}, margins).notes,
              ::testing::Contains(HasSubstr("floors are of another machine")));
}

TEST(CompareFloors, AreLearntFromTwoRunsOfOneBuildAndFromNothingElse) {
  const auto report = [](const std::string& id, double ns) {
    Json document = example_report({path(1, "eigen", ns), example_case("decode:b=2", "eigen", Verdict::failed)});
    document["run"]["id"] = id;
    return document;
  };
  reports::Margins margins;
  const auto add = [&](const Json& base, const Json& next) {
    return add_floors(compare(reports::parse_report(base), reports::parse_report(next)), margins);
  };
  EXPECT_EQ(add(report("a", 1e6), report("b", 1.01e6)), 1U);
  EXPECT_EQ(add(report("b", 1.01e6), report("c", 1e6)), 1U);
  EXPECT_EQ(margins.floors.comparisons, 2);
  EXPECT_THAT(margins.floors.changes.at("decode:b=1 @eigen"),
              ::testing::Each(::testing::DoubleNear(std::log(1.01), 1e-6)));
  Json other = report("d", 1e6);
  EXPECT_THAT(refusal([&] { (void)add(report("d", 1e6), other); }), HasSubstr("both are run d"));
  other["run"]["git"]["sha"] = std::string(40, 'b');
  EXPECT_THAT(refusal([&] { (void)add(report("a", 1e6), other); }), HasSubstr("the commit is"));
  other = report("d", 1e6);
  other["environment"]["fingerprint"] = "0000";
  EXPECT_THAT(refusal([&] { (void)add(report("a", 1e6), other); }), HasSubstr("the fingerprint is"));
  for (int i = 0; i < 60; ++i) (void)add(report("a", 1e6), report("b", 1e6));
  EXPECT_EQ(margins.floors.changes.at("decode:b=1 @eigen").size(), reports::kMostFloorChanges);
  EXPECT_EQ(margins.floors.of("decode:b=1 @eigen"), 0) << "old changes are forgotten";
}

TEST(CompareCanaries, WhatTheMachineDidIsTakenOff) {
  reports::Margins margins;
  margins.canaries = {"* @frozen"};
  // The whole machine is 1.2 % slower, one case by 4 % more.
  const auto next = [](double step) {
    return std::vector{path(1, "frozen", 1e6 * step), path(2, "frozen", 1e6 * step), path(1, "eigen", 1e6 * step),
                       path(2, "eigen", 1.04e6 * step)};
  };
  const auto comparison = compare_cases(next(1), next(1.012), margins);
  ASSERT_TRUE(comparison.drift.has_value());
  EXPECT_EQ(comparison.drift->cases, 2U);
  EXPECT_NEAR(comparison.drift->ratio, 1.012, 1e-6);
  EXPECT_NEAR(comparison.cases[2].ratio->estimate, 1, 1e-6);
  EXPECT_TRUE(comparison.cases[0].canary);
  EXPECT_FALSE(comparison.cases[2].canary);
  auto slower = next(1.012);
  slower[3] = path(2, "eigen", 1.04e6 * 1.012 * 1.04);
  const auto regressed = compare_cases(next(1), slower, margins);
  EXPECT_EQ(regressed.cases[3].speed, Speed::regressed);
  EXPECT_NEAR(regressed.cases[3].ratio->estimate, 1.04, 1e-6);
  EXPECT_EQ(regressed.tally.regressed, 1U);
}

TEST(CompareCanaries, MachineThatChangedTooMuchMakesTheComparisonInvalid) {
  reports::Margins margins;
  margins.canaries = {"* @frozen"};
  const std::vector<Json> base = {path(1, "frozen", 1e6), path(1, "eigen", 1e6)};
  const std::vector<Json> next = {path(1, "frozen", 1.02e6), path(1, "eigen", 1.02e6)};
  const auto comparison = compare_cases(base, next, margins);
  EXPECT_EQ(comparison.exit(), CompareExit::invalid);
  EXPECT_THAT(comparison.cases[1].note, HasSubstr("canaries by +2.0 %"));

  auto changed = base;
  changed[0]["kernel"]["digest"] = "ffffffffffff0000";
  const auto none = compare_cases(base, changed, margins);
  EXPECT_EQ(none.exit(), CompareExit::invalid) << "the only canary has another kernel";
  EXPECT_THAT(none.cases[1].note, HasSubstr("no canary"));
}

TEST(CompareCanaries, FewLaunchesAreNormalisedToo) {
  reports::Margins margins;
  margins.canaries = {"* @frozen"};
  const auto few = [](const char* provider, double ns) {
    return timed_case("decode:b=1", provider, example_performance(ns, 1));
  };
  const auto comparison =
      compare_cases({few("frozen", 1e6), few("eigen", 1e6)}, {few("frozen", 1.01e6), few("eigen", 1.01e6)}, margins);
  EXPECT_NEAR(comparison.cases[1].ratio->estimate, 1, 1e-6);
}

TEST(CompareCycles, VerdictThatCyclesContradictIsInconclusive) {
  const auto clocked = [](double ns, double mhz, const char* unit = "sm_mhz") {
    Json entry = path(1, "eigen", ns);
    entry["performance"]["clocks"] = {{"source", "nvml"}, {"start", {{unit, mhz + 10}}}, {"end", {{unit, mhz - 10}}}};
    return entry;
  };
  const auto verdict = [](const Json& base, const Json& next) { return compare_cases({base}, {next}).cases[0]; };
  const auto slow_clock = verdict(clocked(1e6, 2000), clocked(1.05e6, 1900));
  EXPECT_EQ(slow_clock.speed, Speed::inconclusive) << "5 % more time, the same cycles";
  EXPECT_EQ(slow_clock.note, "regressed by time (+5.0 %), same by cycle (-0.2 %): the clock changed by -5.0 %");
  EXPECT_EQ(verdict(clocked(1e6, 2000), clocked(1.05e6, 2000)).speed, Speed::regressed);
  EXPECT_EQ(verdict(clocked(1e6, 2000), clocked(1e6, 2000)).speed, Speed::same);
  EXPECT_EQ(verdict(clocked(1e6, 1900), clocked(1e6, 2000)).speed, Speed::inconclusive) << "more cycles, unseen";
  EXPECT_EQ(verdict(clocked(1e6, 2000, "cpu_mhz"), clocked(1.05e6, 1900, "cpu_mhz")).speed, Speed::inconclusive);
  EXPECT_EQ(verdict(clocked(1e6, 2000, "memory_mhz"), clocked(1.05e6, 1900, "memory_mhz")).speed, Speed::regressed)
      << "no clock of the compute units";
  EXPECT_EQ(verdict(clocked(1e6, 2000), path(1, "eigen", 1.05e6)).speed, Speed::regressed) << "known on one side";
}

TEST(ComparePaths, RegressionOfTheChosenPathNamesTheOneThatIsFasterNow) {
  const std::vector<Json> base = {path(1, "hip", 1e6), path(1, "hip-graph", 1.1e6), path(1, "torch", 9e6)};
  const auto notes = [&](double hip, double graph) {
    std::vector<std::string> result;
    for (const auto& entry :
         compare_cases(base, {path(1, "hip", hip), path(1, "hip-graph", graph), path(1, "torch", 9e6)}).cases) {
      result.push_back(entry.note);
    }
    return result;
  };
  EXPECT_THAT(notes(1.2e6, 1.1e6), ::testing::ElementsAre("hip-graph is faster now: 1.10 ms", "", ""));
  EXPECT_THAT(notes(1.05e6, 1.1e6), ::testing::ElementsAre("", "", "")) << "slower, and still the fastest";
  EXPECT_THAT(notes(1e6, 1.3e6), ::testing::ElementsAre("", "", "")) << "not the chosen path";
  EXPECT_THAT(
      comparison_text(compare_cases(base, {path(1, "hip", 1.2e6), path(1, "hip-graph", 1.1e6), path(1, "torch", 9e6)})),
      HasSubstr("hip-graph is faster now"));
}

// --- output ------------------------------------------------------------

reports::Comparison eventful() {
  Json slow = timed(1.05e6);
  slow["kernel"]["digest"] = "ffffffffffff0000";
  slow["suites"][0]["name"] = "deepseek-v3-tp8";
  return compare(report_of({timed(1e6), example_case("decode:b=2", "eigen"), example_case("decode:b=3", "eigen"),
                            example_case("decode:b=4", "eigen", Verdict::crashed)}),
                 report_of({slow, example_case("decode:b=2", "eigen", Verdict::failed),
                            example_case("decode:b=4", "eigen", Verdict::crashed)}));
}

TEST(CompareText, ShowsChangedCasesWithTheirCommandAndTheVerdictLast) {
  const std::string text = comparison_text(eventful());
  EXPECT_THAT(text,
              AllOf(HasSubstr("WRONG RESULT (1)\n  passed -> failed  decode:b=2 @eigen\n    hard_bound: row 3"),
                    HasSubstr("\n    mla-harness run decode:b=2 --provider eigen\n"), HasSubstr("STILL FAILING (1)"),
                    HasSubstr("MISSING (1)\n  passed -> none  decode:b=3 @eigen"), HasSubstr("REGRESSED (1)"),
                    HasSubstr("deepseek-v3-tp8 @eigen  +5.0 %"), HasSubstr("changed")));
  EXPECT_THAT(text, ::testing::EndsWith("WRONG RESULT (exit 2): 2 wrong, 1 missing, 1 regressed\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(comparison_text(eventful(), {.columns = 100, .colour = true}), HasSubstr("\x1b[31m"));
}

TEST(CompareMarkdown, BeginsWithTheVerdict) {
  const std::string text = comparison_markdown(eventful());
  EXPECT_THAT(text, ::testing::StartsWith("### MLA harness: WRONG RESULT (exit 2)"));
  EXPECT_THAT(text, HasSubstr("`mla-harness run decode:b=2 --provider eigen`"));
}

TEST(CompareMarkdown, NamesCannotBreakTheTableOrMentionAnyone) {
  Json base = timed(1e6);
  base["suites"][0]["name"] = "a|b <img> @everyone `x`";
  Json next = base;
  next["performance"] = example_performance(2e6, 8);
  const std::string text = comparison_markdown(compare(report_of({base}), report_of({next})));
  EXPECT_THAT(text, HasSubstr("a\\|b &lt;img&gt; &#64;everyone \\`x\\` &#64;eigen"));
}

TEST(CompareJson, HoldsEveryCaseAndTheExitCode) {
  const Json json = comparison_json(eventful());
  EXPECT_EQ(json["exit_code"], 2);
  EXPECT_EQ(json["cases"].size(), 4U);
  EXPECT_EQ(json["cases"][0]["speed"], "regressed");
  EXPECT_EQ(json["cases"][0]["kernel"]["changed"], true);
  EXPECT_EQ(json["cases"][3]["new_verdict"], nullptr);
}

}  // namespace
}  // namespace mla::suites
