// Pairs of launches of two executables that ran side by side, judged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/compare.hpp"
#include "reports/pair/launch.hpp"

namespace mla::reports {

/// Both launches of a pair.
struct PairTimes {
  PairStage stage = PairStage::screen;
  bool base_first = true;
  const PairLaunch* base = nullptr;
  const PairLaunch* next = nullptr;

  /// Logarithm of the time of NEW over that of BASE, each the median of its launch's samples.
  [[nodiscard]] double log_ratio() const;
};

struct PairedCase {
  std::string key;
  std::vector<PairTimes> pairs;         // in the order in which they were finished
  const PairLaunch* failure = nullptr;  // the first launch of the case without times
  std::string objection;                // why its times must not be compared, or empty
  [[nodiscard]] std::size_t count(PairStage stage) const;
};

/// Groups launches by case, in the order of their first appearance; a pair of which only one half was run is left out.
/// The result refers to `launches`.
[[nodiscard]] std::vector<PairedCase> pair_up(std::span<const PairLaunch> launches);

struct PairRules {
  CompareOptions compare = {};
  std::string fingerprint = {};  // of the machine and build environment: the floors of another one do not count
  /// A case is confirmed where a change beyond the margin, in either direction, has a p-value below this in the
  /// screening, or where the screening does not place it within the margin: on a noisy machine few pairs miss a real
  /// change more often than they find it. With 0 confirming pairs the screening is all there is, and decides.
  double screen_level = 0.10;
  int confirm_pairs = 16;
  /// A case that its confirming pairs leave open gets as many again, and is looked at this many times in all. Each look
  /// spends an equal share of the error that one may make (a look more is a chance more to be misled), so that all of
  /// them together keep the rates of one.
  int looks = 4;
};

/// Keys of the cases that need `confirm_pairs` more pairs: with `look` 0 those that the screening could not clear, else
/// those that are still open after so many looks.
[[nodiscard]] std::vector<std::string> to_confirm(std::span<const PairedCase> cases, const PairRules& rules, int look);

/// What the pairs say of one case.
struct PairEvidence {
  std::string key;
  PairStage stage = PairStage::screen;  // whose pairs decided: fresh ones wherever there are
  double p_slower = 1;
  double p_faster = 1;
};

struct PairJudgement {
  Comparison comparison;
  std::vector<PairEvidence> evidence;  // of the cases that were decided
};

/// The comparison of two reports of checks (mode C) by two executables, with speeds from the pairs. Correctness is
/// compared as always, and more strictly: a case that is wrong in BASE, or a launch that failed, is a wrong result too,
/// since there is then nothing that its speed could be compared with. Speed: the confirmed cases are decided together,
/// under Benjamini-Hochberg, from their fresh pairs alone (statistics/decision.hpp), each at the first look that closes
/// it; the others, which the screening placed within the margin, are SAME.
[[nodiscard]] PairJudgement judge(const Report& base, const Report& next, std::span<const PairedCase> cases,
                                  const PairRules& rules);

}  // namespace mla::reports
