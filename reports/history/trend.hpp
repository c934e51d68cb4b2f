// Which changes of a case's time over many runs last.
#pragma once

#include <span>

#include "reports/history/history.hpp"

namespace mla::reports {

/// Steps of the logarithms of the medians (statistics/change_points.hpp); runs without a time are passed over. A step
/// is at least `margin`, a share of the time, and needs two consecutive measured runs.
[[nodiscard]] Trend trend_of(std::span<const HistoryPoint> points, double margin);

}  // namespace mla::reports
