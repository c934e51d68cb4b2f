#include "harness/pair/rounds.hpp"

#include <set>
#include <tuple>
#include <utility>

#include "harness/pair/schedule.hpp"

namespace mla::harness {

namespace {

using reports::PairLaunch;
using reports::PairSide;
using reports::PairStage;

class Rounds {
 public:
  Rounds(const PairDesign& design, const PairHooks& hooks, std::vector<PairLaunch> done)
      : design_(design), hooks_(hooks), launches_(std::move(done)) {
    for (const reports::PairedCase& paired : reports::pair_up(launches_)) {
      if (paired.failure != nullptr) failed_.insert(paired.key);
      for (const reports::PairTimes& pair : paired.pairs) done_.emplace(paired.key, pair.stage, pair.base->pair);
    }
  }

  std::vector<PairLaunch> run(const std::vector<std::string>& keys) {
    const int pairs = design_.rules.confirm_pairs;
    bool goes_on = run_stage(PairStage::screen, keys, 0, design_.screen_pairs);
    for (int look = 0; goes_on && pairs > 0 && look < design_.rules.looks; ++look) {
      const std::vector<std::string> open = reports::to_confirm(reports::pair_up(launches_), design_.rules, look);
      goes_on = run_stage(PairStage::confirm, open, look * pairs, pairs);
    }
    return std::move(launches_);
  }

 private:
  // False where the user interrupted.
  bool run_stage(PairStage stage, const std::vector<std::string>& keys, int first, int pairs) {
    if (keys.empty()) return true;
    hooks_.begin_stage(stage, keys.size() * static_cast<std::size_t>(pairs));
    for (const ScheduledPair& scheduled : schedule(keys, stage, first, pairs, design_.seed)) {
      const bool done_before =
          failed_.contains(scheduled.key) || done_.contains({scheduled.key, stage, scheduled.pair});
      if (!done_before) {
        hooks_.begin_pair(scheduled.key);
        if (!run_pair(stage, scheduled)) return false;
      }
      hooks_.end_pair(scheduled.key, done_before);
    }
    return true;
  }

  // Here and below, false where the user interrupted.
  bool run_pair(PairStage stage, const ScheduledPair& scheduled) {
    const PairSide first = scheduled.base_first ? PairSide::base : PairSide::next;
    const PairSide second = reports::other(first);
    if (hooks_.launch_both) {
      std::optional<std::array<PairLaunch, 2>> both = hooks_.launch_both(scheduled.key, first);
      if (!both) return false;
      keep(stage, scheduled, first, true, std::move((*both)[0]));
      keep(stage, scheduled, second, false, std::move((*both)[1]));
      return true;
    }
    return run_launch(stage, scheduled, first, true) &&
           (failed_.contains(scheduled.key) || run_launch(stage, scheduled, second, false));
  }

  bool run_launch(PairStage stage, const ScheduledPair& scheduled, PairSide side, bool first) {
    std::optional<PairLaunch> launch = hooks_.launch(scheduled.key, side);
    if (launch) keep(stage, scheduled, side, first, std::move(*launch));
    return launch.has_value();
  }

  void keep(PairStage stage, const ScheduledPair& scheduled, PairSide side, bool first, PairLaunch launch) {
    launch.key = scheduled.key;
    launch.stage = stage;
    launch.pair = scheduled.pair;
    launch.side = side;
    launch.first = first;
    hooks_.keep(launch);
    if (!launch.failure.empty()) failed_.insert(scheduled.key);
    launches_.push_back(std::move(launch));
  }

  const PairDesign& design_;
  const PairHooks& hooks_;
  std::vector<PairLaunch> launches_;
  std::set<std::tuple<std::string, PairStage, int>> done_;
  std::set<std::string> failed_;
};

}  // namespace

std::vector<PairLaunch> run_rounds(const std::vector<std::string>& keys, const PairDesign& design,
                                   const PairHooks& hooks, std::vector<PairLaunch> done) {
  return Rounds(design, hooks, std::move(done)).run(keys);
}

}  // namespace mla::harness
