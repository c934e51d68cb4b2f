#include <algorithm>

#include <fmt/format.h>

#include "reports/detail/text.hpp"
#include "reports/export/formats.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

/// Lines that such dashboards show beside a point.
std::string extra_of(const Case& entry) {
  const Performance& performance = *entry.performance;
  std::string text = fmt::format("{} GB/s\n{} GFLOP/s", detail::number_text(performance.tb_per_s * 1e3),
                                 detail::number_text(performance.tflop_per_s * 1e3));
  if (const auto& ceiling = performance.ceiling) {
    text += fmt::format("\n{:.1f} % of {}", ceiling->percent, ceiling->name);
  }
  return text + "\n" + entry.repro;
}

}  // namespace

std::string custom_json(const Report& report) {
  Json list = Json::array();
  for (const Case& entry : report.cases) {
    if (!entry.performance) continue;
    const Performance& performance = *entry.performance;
    const double below = performance.median_ns - performance.ci95_low_ns;
    const double above = performance.ci95_high_ns - performance.median_ns;
    list.push_back({{"name", entry.key},
                    {"unit", "ns"},
                    {"value", performance.median_ns},
                    {"range", fmt::format("\u00B1 {}", detail::number_text(std::max(below, above)))},
                    {"extra", extra_of(entry)}});
  }
  return dump_strict(list, 1) + "\n";
}

}  // namespace mla::reports
