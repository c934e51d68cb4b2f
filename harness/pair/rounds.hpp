// Works through the two stages of a comparison by pairs, whatever a launch is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/pair/judge.hpp"
#include "reports/pair/launch.hpp"

namespace mla::harness {

/// How many pairs, and in which order.
struct PairDesign {
  int screen_pairs = 6;
  reports::PairRules rules;  // confirm_pairs among them
  std::uint64_t seed = 0;
};

/// What the rounds need from outside.
struct PairHooks {
  /// Makes one launch: its times, or its failure. None where the user interrupted it.
  std::function<std::optional<reports::PairLaunch>(const std::string& key, reports::PairSide side)> launch;
  /// A launch is done and has its place: for the journal.
  std::function<void(const reports::PairLaunch&)> keep;
  /// A stage of so many pairs begins, some of them done before.
  std::function<void(reports::PairStage stage, std::size_t pairs)> begin_stage;
  /// A pair begins; it has ended, or was done before.
  std::function<void(const std::string& key)> begin_pair;
  std::function<void(const std::string& key, bool done_before)> end_pair;
  /// Makes both launches of a pair at once instead, that of `first` coming first in the result; may be empty.
  std::function<std::optional<std::array<reports::PairLaunch, 2>>(const std::string& key, reports::PairSide first)>
      launch_both = {};
};

/// Screens all cases, then confirms on fresh pairs those that the screening could not clear, with more of them as long
/// as the rules allow another look. `done`: launches of an earlier, interrupted call, of which whole pairs are not run
/// again. A case of which a launch failed is dropped. Returns all launches, the ones from before first.
[[nodiscard]] std::vector<reports::PairLaunch> run_rounds(const std::vector<std::string>& keys,
                                                          const PairDesign& design, const PairHooks& hooks,
                                                          std::vector<reports::PairLaunch> done = {});

}  // namespace mla::harness
