#include "reports/history/trend.hpp"

#include <cmath>

#include "reports/statistics/change_points.hpp"

namespace mla::reports {

Trend trend_of(std::span<const HistoryPoint> points, double margin) {
  std::vector<double> logs;
  std::vector<std::size_t> run_of_log;
  for (std::size_t run = 0; run < points.size(); ++run) {
    if (points[run].median_ns <= 0) continue;
    logs.push_back(std::log(static_cast<double>(points[run].median_ns)));
    run_of_log.push_back(run);
  }
  Trend trend;
  trend.measured = logs.size();
  const auto segments = statistics::segments(logs, {.smallest_step = std::log1p(margin)});
  for (std::size_t i = 0; i < segments.size(); ++i) {
    trend.levels_ns.push_back(std::exp(segments[i].level));
    if (i == 0) continue;
    const double change = segments[i].level - segments[i - 1].level;
    trend.steps.push_back({run_of_log[segments[i].first], std::exp(change), {}});
  }
  // Three values are the fewest of which one can be the odd one out.
  if (logs.size() >= 3) {
    const double off = logs.back() - segments.back().level;
    if (std::abs(off) >= std::log1p(margin)) trend.unconfirmed = std::exp(off);
  }
  return trend;
}

}  // namespace mla::reports
