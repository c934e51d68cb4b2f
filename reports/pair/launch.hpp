// One process launch of one case: what `mla-harness launch` prints, and `pair` collects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports {

enum class PairStage : std::uint8_t {
  screen,   // few pairs of every case: which cases may have changed
  confirm,  // fresh pairs of those
};
[[nodiscard]] std::string_view name_of(PairStage stage);

/// Which executable.
enum class PairSide : std::uint8_t { base, next };
[[nodiscard]] std::string_view name_of(PairSide side);  // "base", "new"
[[nodiscard]] constexpr PairSide other(PairSide side) {
  return side == PairSide::base ? PairSide::next : PairSide::base;
}

/// Times of one process.
struct LaunchTimes {
  std::string timer;
  std::string cache;
  std::vector<double> samples_ns;  // all of them, in their order
  Json clocks;                     // as in a report's performance, or null
};

/// The line that `mla-harness launch` prints: schema mla-harness-launch 1.x with the members timer, cache, samples_ns
/// and clocks; later minors may have more. Throws ReportError.
[[nodiscard]] LaunchTimes parse_launch(std::string_view line);
[[nodiscard]] Json launch_json(const LaunchTimes& times);

/// A launch at its place among the pairs.
struct PairLaunch {
  std::string key;  // of the case
  PairStage stage = PairStage::screen;
  int pair = 0;  // of the case in this stage, from 0
  PairSide side = PairSide::base;
  bool first = true;  // the other one of its pair followed
  LaunchTimes times;
  std::string failure;  // why there are no times: how the process ended; else empty

  [[nodiscard]] double median_ns() const;
};

}  // namespace mla::reports
