// Verdicts from pairs, and how often they are right: launches with the noise that was measured on machines.
#include "reports/pair/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/pair/rounds.hpp"

namespace mla::reports {
namespace {

using harness::PairDesign;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Report report_of(const std::vector<std::string>& keys, Verdict verdict = Verdict::passed) {
  Report report;
  report.run.id = "r";
  report.run.started_utc = "2026-12-01T01:02:03Z";
  report.run.complete = true;
  report.run.mode = "C";
  report.environment.fingerprint = "f";
  for (const std::string& key : keys) {
    Case entry;
    entry.key = key;
    entry.problem = key.substr(0, key.find(" @"));
    entry.provider = key.substr(key.find(" @") + 2);
    entry.input_digest = "d";
    entry.verdict = verdict;
    if (verdict != Verdict::passed) entry.reason = Reason{"hard_bound", "wrong"};
    report.cases.push_back(entry);
  }
  return report;
}

std::vector<std::string> keys_of(int cases) {
  std::vector<std::string> keys;
  for (int i = 0; i < cases; ++i) keys.push_back(fmt::format("decode:b={} @eigen", i + 1));
  return keys;
}

/// Launches of a machine: spread from launch to launch, a slow drift, hiccups.
class Machine {
 public:
  Machine(std::uint64_t seed, double launch_sd) : random_(seed), launch_sd_(launch_sd) {}

  /// Nanoseconds of a launch that would take `ns` undisturbed.
  double operator()(double ns) {
    drift_ = 0.98 * drift_ + 0.006 * std::sqrt(1 - 0.98 * 0.98) * normal_(random_);
    const double hiccup = uniform_(random_) < 0.02 ? std::log(1.1 + 0.4 * uniform_(random_)) : 0;
    return ns * std::exp(drift_ + launch_sd_ * normal_(random_) + hiccup);
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double launch_sd_;
  double drift_ = 0;
};

/// What `pair` would have found with the cases of `factors` slowed by them.
PairJudgement simulate(const std::vector<std::string>& keys, const std::map<std::string, double>& factors,
                       std::uint64_t seed, const PairDesign& design = {}, double launch_sd = 0.008) {
  Machine machine(seed, launch_sd);
  const harness::PairHooks hooks{
      [&](const std::string& key, PairSide side) -> std::optional<PairLaunch> {
        const auto at = factors.find(key);
        const bool slow = side == PairSide::next && at != factors.end();
        PairLaunch launch;
        launch.times = {"simulated", "hot", {machine(slow ? at->second * 1e6 : 1e6)}, nullptr};
        return launch;
      },
      [](const PairLaunch&) {}, [](PairStage, std::size_t) {}, [](const std::string&) {},
      [](const std::string&, bool) {}};
  const auto launches = harness::run_rounds(keys, design, hooks);
  const Report report = report_of(keys);
  return judge(report, report, pair_up(launches), design.rules);
}

std::vector<std::string> keys_with(const Comparison& comparison, Speed speed) {
  std::vector<std::string> keys;
  for (const CaseComparison& entry : comparison.cases) {
    if (entry.speed == speed) keys.push_back(entry.key);
  }
  return keys;
}

TEST(PairSimulation, TheSameBuildTwiceRaisesNoAlarm) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Comparison comparison = simulate(keys_of(300), {}, seed).comparison;
    EXPECT_THAT(keys_with(comparison, Speed::regressed), IsEmpty()) << "seed " << seed;
    EXPECT_THAT(keys_with(comparison, Speed::improved), IsEmpty()) << "seed " << seed;
    EXPECT_EQ(comparison.exit(), CompareExit::ok);
  }
}

TEST(PairSimulation, ALoneRegressionAmongManyIsFoundAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::string> keys = keys_of(300);
    const std::string slow = keys[seed * 7 % 300];
    const PairJudgement judgement = simulate(keys, {{slow, 1.05}}, seed);
    EXPECT_THAT(keys_with(judgement.comparison, Speed::regressed), ElementsAre(slow)) << "seed " << seed;
    EXPECT_EQ(judgement.comparison.exit(), CompareExit::regression);
  }
}

TEST(PairSimulation, SlowerAndFasterCasesAreToldApart) {
  const std::vector<std::string> keys = keys_of(40);
  const PairJudgement judgement = simulate(keys, {{keys[2], 1.05}, {keys[30], 0.95}}, 5);
  EXPECT_THAT(keys_with(judgement.comparison, Speed::regressed), ElementsAre(keys[2]));
  EXPECT_THAT(keys_with(judgement.comparison, Speed::improved), ElementsAre(keys[30]));
  for (const PairEvidence& evidence : judgement.evidence) {
    if (evidence.key != keys[2] && evidence.key != keys[30]) continue;
    EXPECT_EQ(evidence.stage, PairStage::confirm);
  }
}

TEST(PairSimulation, ANoisyMachineIsAnsweredWithWhatItCouldHaveFound) {
  const PairJudgement judgement = simulate(keys_of(12), {}, 1, {}, 0.08);
  const auto undecided = keys_with(judgement.comparison, Speed::inconclusive);
  ASSERT_GT(undecided.size(), 8U);
  for (const CaseComparison& entry : judgement.comparison.cases) {
    if (entry.speed != Speed::inconclusive) continue;
    EXPECT_GT(entry.ratio->detectable.value_or(0), 0.05);
  }
  EXPECT_EQ(exit_code(judgement.comparison.tally, false, false), CompareExit::ok);
  EXPECT_EQ(exit_code(judgement.comparison.tally, false, true), CompareExit::regression);
}

TEST(PairSimulation, ANoisyMachineNeedsMoreLooksAndGetsThem) {
  // Launches that differ by 6 %, as on a virtual machine with neighbours.
  PairDesign design;
  design.screen_pairs = 24;
  design.rules.confirm_pairs = 64;
  design.rules.looks = 6;
  const std::vector<std::string> keys = keys_of(4);
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Comparison slowed = simulate(keys, {{keys[1], 1.05}, {keys[3], 1.05}}, seed, design, 0.06).comparison;
    EXPECT_THAT(keys_with(slowed, Speed::regressed), ElementsAre(keys[1], keys[3])) << "seed " << seed;
    EXPECT_THAT(keys_with(simulate(keys, {}, seed, design, 0.06).comparison, Speed::regressed), IsEmpty()) << seed;
    for (const CaseComparison& entry : slowed.cases) most = std::max(most, entry.ratio->base_launches);
  }
  EXPECT_GT(most, 64U);
}

TEST(PairSimulation, AsManyLooksRaiseNoMoreAlarmsThanOne) {
  // Every case lies at its margin, where a single test at 5 % may call one in twenty slower.
  PairDesign design;
  design.rules.looks = 8;
  const std::vector<std::string> keys = keys_of(1);
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Comparison comparison = simulate(keys, {{keys[0], 1.02}}, seed, design).comparison;
    alarms += keys_with(comparison, Speed::regressed).empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 400 * 0.05 + 2 * std::sqrt(400 * 0.05 * 0.95));
}

TEST(PairSimulation, WithoutConfirmationTheScreeningDecides) {
  PairDesign design;
  design.screen_pairs = 16;
  design.rules.confirm_pairs = 0;
  const std::vector<std::string> keys = keys_of(20);
  EXPECT_THAT(keys_with(simulate(keys, {{keys[4], 1.06}}, 3, design).comparison, Speed::regressed),
              ElementsAre(keys[4]));
}

// --- what is no matter of statistics
// -----------------------------------------------------------------------------------

PairLaunch launch_of(const std::string& key, PairStage stage, int pair, PairSide side, double ns) {
  PairLaunch launch;
  launch.key = key;
  launch.stage = stage;
  launch.pair = pair;
  launch.side = side;
  launch.first = (side == PairSide::base) == (pair % 2 == 0);
  launch.times = {"steady_clock", "hot", {ns}, nullptr};
  return launch;
}

/// Pairs of one case, each in its order.
std::vector<PairLaunch> pairs_of(const std::string& key, PairStage stage, int pairs, double base_ns, double next_ns) {
  std::vector<PairLaunch> launches;
  for (int pair = 0; pair < pairs; ++pair) {
    PairLaunch base = launch_of(key, stage, pair, PairSide::base, base_ns * (1 + 1e-4 * (pair % 3)));
    PairLaunch next = launch_of(key, stage, pair, PairSide::next, next_ns);
    launches.push_back(base.first ? base : next);
    launches.push_back(base.first ? next : base);
  }
  return launches;
}

const std::string kKey = "decode:b=1 @eigen";

TEST(PairJudge, FreshPairsAloneDecideOnAConfirmedCase) {
  auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1.2e6);
  for (const PairLaunch& launch : pairs_of(kKey, PairStage::confirm, 8, 1e6, 1.001e6)) launches.push_back(launch);
  const Report report = report_of({kKey});
  const PairJudgement judgement = judge(report, report, pair_up(launches), {});
  EXPECT_EQ(judgement.comparison.cases[0].speed, Speed::same);
  EXPECT_NEAR(judgement.comparison.cases[0].ratio->estimate, 1.001, 2e-4);
  EXPECT_EQ(judgement.comparison.cases[0].ratio->base_launches, 8U);
}

TEST(PairJudge, ASuspicionThatWasNotConfirmedYetIsNoVerdict) {
  const auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1.2e6);
  const Report report = report_of({kKey});
  EXPECT_EQ(judge(report, report, pair_up(launches), {}).comparison.cases[0].speed, Speed::inconclusive);
}

TEST(PairJudge, AWrongResultOnEitherSideIsAWrongResult) {
  const Report good = report_of({kKey});
  const Report wrong = report_of({kKey}, Verdict::failed);
  EXPECT_EQ(judge(good, wrong, {}, {}).comparison.exit(), CompareExit::wrong_result);
  const PairJudgement base_wrong = judge(wrong, good, {}, {});
  EXPECT_EQ(base_wrong.comparison.exit(), CompareExit::wrong_result);
  EXPECT_THAT(base_wrong.comparison.notes, Contains(HasSubstr("1 case wrong in BASE")));
  EXPECT_EQ(judge(wrong, wrong, {}, {}).comparison.exit(), CompareExit::wrong_result);
}

TEST(PairJudge, AFailedLaunchIsAWrongResultWithItsReason) {
  auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1e6);
  launches[5].failure = "was killed by signal 11 (Segmentation fault)";
  launches[5].side = PairSide::next;
  const Report report = report_of({kKey});
  const Comparison comparison = judge(report, report, pair_up(launches), {}).comparison;
  EXPECT_EQ(comparison.exit(), CompareExit::wrong_result);
  EXPECT_THAT(comparison.cases[0].reason->message, HasSubstr("a launch of NEW was killed by signal 11"));
  EXPECT_EQ(comparison.cases[0].speed, Speed::not_compared);
}

TEST(PairJudge, TimesThatMustNotBeComparedAreInvalid) {
  auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1e6);
  for (PairLaunch& launch : launches) {
    if (launch.side == PairSide::next) launch.times.cache = "rotate:520MiB";
  }
  const Report report = report_of({kKey});
  const Comparison caches = judge(report, report, pair_up(launches), {}).comparison;
  EXPECT_EQ(caches.exit(), CompareExit::invalid);
  EXPECT_THAT(caches.cases[0].note, HasSubstr("cache regime differs: hot and rotate:520MiB"));

  Report other = report;
  other.cases[0].input_digest = "e";
  launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1e6);
  const Comparison inputs = judge(report, other, pair_up(launches), {}).comparison;
  EXPECT_EQ(inputs.exit(), CompareExit::invalid);
  EXPECT_THAT(inputs.cases[0].note, HasSubstr("input digest differs"));
}

TEST(PairJudge, BuildsMayDifferAndThatIsNoted) {
  const Report base = report_of({kKey});
  Report next = base;
  next.run.build_flags = "-O2";
  next.environment.fingerprint = "g";
  const auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1e6);
  const Comparison comparison = judge(base, next, pair_up(launches), {}).comparison;
  EXPECT_EQ(comparison.cases[0].speed, Speed::same);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("built differently")));
  EXPECT_EQ(comparison.next_fingerprint, "g");
}

TEST(PairJudge, ACaseOfBaseAloneIsMissing) {
  const Report base = report_of(keys_of(2));
  const Report next = report_of(keys_of(1));
  EXPECT_EQ(judge(base, next, {}, {}).comparison.exit(), CompareExit::missing_cases);
  EXPECT_EQ(judge(base, next, {}, {.compare = {.allow_missing = true}}).comparison.exit(), CompareExit::ok);
}

TEST(PairJudge, ACaseMayHaveAMarginOfItsOwn) {
  const std::vector<std::string> keys = keys_of(2);
  PairRules rules;
  rules.confirm_pairs = 0;
  rules.compare.margins.rules.push_back({keys[1], 0.08, "threads move"});
  auto launches = pairs_of(keys[0], PairStage::screen, 8, 1e6, 1.05e6);
  for (const PairLaunch& launch : pairs_of(keys[1], PairStage::screen, 8, 1e6, 1.05e6)) launches.push_back(launch);
  const Report report = report_of(keys);
  const Comparison comparison = judge(report, report, pair_up(launches), rules).comparison;
  EXPECT_EQ(comparison.cases[0].speed, Speed::regressed);
  EXPECT_EQ(comparison.cases[1].speed, Speed::same);
}

TEST(PairJudge, ThrottlingIsCountedBesideTheCase) {
  auto launches = pairs_of(kKey, PairStage::screen, 6, 1e6, 1e6);
  for (std::size_t i = 0; i < 3; ++i) {
    launches[i].times.clocks = {{"source", "nvml"}, {"start", Json::object()}, {"end", {{"throttle", {"power_cap"}}}}};
  }
  launches[4].times.clocks = {{"source", "nvml"}, {"start", Json::object()}, {"end", {{"throttle", nullptr}}}};
  const Report report = report_of({kKey});
  EXPECT_EQ(judge(report, report, pair_up(launches), {}).comparison.cases[0].note,
            "throttled: power_cap in 3 of 12 launches");
}

}  // namespace
}  // namespace mla::reports
