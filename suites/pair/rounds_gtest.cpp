// Which launches are made, in which order, and what an interruption costs; launches are simulated.
#include "harness/pair/rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/pair/schedule.hpp"
#include "reports/error.hpp"
#include "reports/pair/journal.hpp"
#include "suites/support/command.hpp"

namespace mla::harness {
namespace {

using reports::PairLaunch;
using reports::PairSide;
using reports::PairStage;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> keys_of(int cases) {
  std::vector<std::string> keys;
  for (int i = 0; i < cases; ++i) keys.push_back("decode:b=" + std::to_string(i + 1) + " @eigen");
  return keys;
}

TEST(Schedule, EveryRoundHasEveryCaseOnceInAnOrderOfItsOwn) {
  const std::vector<std::string> keys = keys_of(20);
  const auto scheduled = schedule(keys, PairStage::screen, 0, 4, 7);
  ASSERT_EQ(scheduled.size(), 80U);
  std::set<std::vector<std::string>> orders;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> order;
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(scheduled[static_cast<std::size_t>(20 * round + i)].pair, round);
      order.push_back(scheduled[static_cast<std::size_t>(20 * round + i)].key);
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    std::vector<std::string> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(order, sorted);
  }
  EXPECT_EQ(orders.size(), 4U);
}

TEST(Schedule, OrdersWithinPairsAlternateAndBeginDifferently) {
  std::map<std::string, std::vector<bool>> orders;
  for (const ScheduledPair& pair : schedule(keys_of(40), PairStage::confirm, 0, 6, 1)) {
    orders[pair.key].push_back(pair.base_first);
  }
  int base_begins = 0;
  for (const auto& [key, order] : orders) {
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1]) << key;
    base_begins += order.front() ? 1 : 0;
  }
  EXPECT_GT(base_begins, 5);
  EXPECT_LT(base_begins, 35);
}

TEST(Schedule, FollowsFromItsSeedAndStage) {
  const auto keys_in_order = [](PairStage stage, std::uint64_t seed, int first = 0) {
    std::vector<std::string> keys;
    for (const ScheduledPair& pair : schedule(keys_of(20), stage, first, 2, seed)) keys.push_back(pair.key);
    return keys;
  };
  EXPECT_EQ(keys_in_order(PairStage::screen, 3), keys_in_order(PairStage::screen, 3));
  EXPECT_NE(keys_in_order(PairStage::screen, 3), keys_in_order(PairStage::screen, 4));
  EXPECT_NE(keys_in_order(PairStage::screen, 3), keys_in_order(PairStage::confirm, 3));
  EXPECT_NE(keys_in_order(PairStage::confirm, 3, 2), keys_in_order(PairStage::confirm, 3, 4));
  EXPECT_EQ(schedule(keys_of(2), PairStage::confirm, 8, 2, 0).back().pair, 9);
}

PairLaunch launch_of(double ns) {
  PairLaunch launch;
  launch.times = {"simulated", "hot", {ns}, nullptr};
  return launch;
}

/// Launches that are simulated: NEW takes `factor` times as long in the slow case.
struct Simulation {
  std::string slow = {};
  double factor = 1;
  double swing = 0;                          // and up to this much slower or faster, five values in turn
  std::string fails = {};                    // key of a case whose NEW crashes
  std::size_t stop_after = ~std::size_t{0};  // launches, then the user interrupts
  std::vector<PairLaunch> kept = {};
  int done_before = 0;
  int slow_launches = 0;

  [[nodiscard]] PairHooks hooks() {
    return {[this](const std::string& key, PairSide side) -> std::optional<PairLaunch> {
              if (kept.size() == stop_after) return std::nullopt;
              if (key == fails && side == PairSide::next) {
                PairLaunch launch;
                launch.failure = "was killed by signal 11";
                return launch;
              }
              // A tenth of a percent up and down.
              const double noise = 1 + 1e-3 * std::sin(static_cast<double>(kept.size()) * 1.7);
              if (key != slow || side == PairSide::base) return launch_of(1e6 * noise);
              const int phase = slow_launches++ % 5 - 2;
              return launch_of(1e6 * noise * (factor + swing * phase / 2));
            },
            [this](const PairLaunch& launch) { kept.push_back(launch); }, [](PairStage, std::size_t) {},
            [](const std::string&) {}, [this](const std::string&, bool before) { done_before += before ? 1 : 0; }};
  }
};

PairDesign small_design() {
  PairDesign design;
  design.screen_pairs = 4;
  design.rules.confirm_pairs = 5;
  return design;
}

TEST(Rounds, OnlyWhatTheScreeningCannotClearIsConfirmed) {
  const std::vector<std::string> keys = keys_of(12);
  Simulation simulation{.slow = keys[3], .factor = 1.05};
  const auto launches = run_rounds(keys, small_design(), simulation.hooks());
  EXPECT_EQ(launches.size(), 2U * (12 * 4 + 5));
  for (const PairLaunch& launch : launches) {
    if (launch.stage != PairStage::confirm) continue;
    EXPECT_EQ(launch.key, keys[3]);
  }
  EXPECT_EQ(launches.size(), simulation.kept.size());
}

TEST(Rounds, ACaseThatStaysOpenGetsMorePairsUpToTheLastLook) {
  const std::vector<std::string> keys = keys_of(3);
  PairDesign design = small_design();
  design.rules.looks = 3;
  // At the margin, neither within nor beyond it.
  Simulation simulation{.slow = keys[1], .factor = 1.02, .swing = 0.01};
  std::map<std::string, std::set<int>> confirmed;
  for (const PairLaunch& launch : run_rounds(keys, design, simulation.hooks())) {
    if (launch.stage == PairStage::confirm) confirmed[launch.key].insert(launch.pair);
  }
  ASSERT_EQ(confirmed.size(), 1U);
  EXPECT_EQ(confirmed[keys[1]].size(), 15U);
  EXPECT_EQ(*confirmed[keys[1]].rbegin(), 14);
}

TEST(Rounds, AnInterruptedLookIsContinued) {
  const std::vector<std::string> keys = keys_of(3);
  const PairDesign design = small_design();
  Simulation whole{.slow = keys[1], .factor = 1.02, .swing = 0.01};
  const std::size_t launches = run_rounds(keys, design, whole.hooks()).size();
  ASSERT_EQ(launches, 2U * (3 * 4 + 4 * 5));
  Simulation first{.slow = keys[1], .factor = 1.02, .swing = 0.01, .stop_after = launches - 12};
  const auto part = run_rounds(keys, design, first.hooks());
  Simulation second{.slow = keys[1], .factor = 1.02, .swing = 0.01};
  EXPECT_EQ(run_rounds(keys, design, second.hooks(), part).size(), launches);
  EXPECT_EQ(second.kept.size(), 12U);
}

TEST(Rounds, ACaseOfWhichALaunchFailedIsDropped) {
  const std::vector<std::string> keys = keys_of(3);
  Simulation simulation{.fails = keys[1]};
  const auto launches = run_rounds(keys, small_design(), simulation.hooks());
  const auto of_case = std::count_if(launches.begin(), launches.end(), [&](const auto& l) { return l.key == keys[1]; });
  EXPECT_LE(of_case, 2);
  const auto cases = reports::pair_up(launches);
  const auto at = std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.key == keys[1]; });
  ASSERT_NE(at->failure, nullptr);
  EXPECT_EQ(at->failure->side, PairSide::next);
}

TEST(Rounds, BothLaunchesOfAPairMayBeMadeAtOnce) {
  const std::vector<std::string> keys = keys_of(3);
  Simulation simulation{.fails = keys[1]};
  PairHooks hooks = simulation.hooks();
  hooks.launch_both = [launch = hooks.launch](const std::string& key, PairSide first) {
    return std::optional(std::array{*launch(key, first), *launch(key, reports::other(first))});
  };
  hooks.launch = nullptr;
  const auto launches = run_rounds(keys, small_design(), hooks);
  ASSERT_EQ(launches.size(), 2U * (2 * 4 + 1));
  for (std::size_t i = 0; i < launches.size(); i += 2) {
    EXPECT_TRUE(launches[i].first && !launches[i + 1].first);
    EXPECT_NE(launches[i].side, launches[i + 1].side);
    EXPECT_EQ(launches[i].key, launches[i + 1].key);
  }
  const auto cases = reports::pair_up(launches);
  const auto at = std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.key == keys[1]; });
  ASSERT_NE(at->failure, nullptr);
  EXPECT_EQ(at->failure->side, PairSide::next);
}

TEST(Rounds, WholePairsOfBeforeAreNotRunAgainAndAHalfOneIs) {
  const std::vector<std::string> keys = keys_of(5);
  Simulation first{.slow = keys[0], .factor = 1.05, .stop_after = 17};
  const auto half = run_rounds(keys, small_design(), first.hooks());
  ASSERT_EQ(half.size(), 17U);
  Simulation second{.slow = keys[0], .factor = 1.05};
  const auto whole = run_rounds(keys, small_design(), second.hooks(), half);
  EXPECT_EQ(second.done_before, 8);
  EXPECT_EQ(second.kept.size(), 2U * (5 * 4 + 5) - 16);
  std::size_t pairs = 0;
  for (const reports::PairedCase& paired : reports::pair_up(whole)) pairs += paired.pairs.size();
  EXPECT_EQ(pairs, 5U * 4 + 5);
}

TEST(PairJournal, GivesBackWhatWasWrittenAndCutsAHalfLine) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("c.jsonl");
  const reports::Json design = {{"seed", 1}, {"base", {{"digest", "a"}}}};
  Simulation simulation{.fails = "decode:b=1 @eigen"};
  {
    auto journal = reports::PairJournal::create(path, design);
    for (const PairLaunch& launch : run_rounds(keys_of(2), small_design(), simulation.hooks())) journal.append(launch);
    EXPECT_THAT([&] { (void)reports::PairJournal::resume(path, design); },
                ThrowsMessage<reports::ReportError>(HasSubstr("another process")));
  }
  std::ofstream(path, std::ios::app) << R"({"key": "decode:b=2 @ei)";
  const auto resumed = reports::PairJournal::resume(path, design);
  ASSERT_EQ(resumed.launches().size(), simulation.kept.size());
  for (std::size_t i = 0; i < resumed.launches().size(); ++i) {
    const PairLaunch& read = resumed.launches()[i];
    const PairLaunch& written = simulation.kept[i];
    EXPECT_EQ(std::tie(read.key, read.stage, read.pair, read.side, read.first, read.failure, read.times.samples_ns),
              std::tie(written.key, written.stage, written.pair, written.side, written.first, written.failure,
                       written.times.samples_ns));
  }
}

TEST(PairJournal, RefusesAnotherDesignAndABrokenLine) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("c.jsonl");
  const reports::Json design = {{"seed", 1}, {"margin", 0.02}};
  (void)reports::PairJournal::create(path, design);
  EXPECT_THAT(
      [&] {
        (void)reports::PairJournal::resume(path, {{"seed", 2}, {"margin", 0.02}});
      },
      ThrowsMessage<reports::ReportError>(HasSubstr("seed was 1 and now is 2")));
  std::ofstream(path, std::ios::app) << "{\"key\": \"decode @eigen\", \"stage\": \"third\"}\n";
  EXPECT_THAT([&] { (void)reports::PairJournal::resume(path, design); },
              ThrowsMessage<reports::ReportError>(HasSubstr("line 2: /stage = \"third\"")));
}

}  // namespace
}  // namespace mla::harness
