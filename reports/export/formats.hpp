// A report in the forms that other tools read.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace mla::reports {

/// Google Benchmark's JSON: one `iteration` entry a launch and, from two launches on, `aggregate` entries, so that its
/// compare.py finds the repetitions that its U test needs. Times are device times under real_time and cpu_time, in ns.
[[nodiscard]] std::string benchmark_json(const Report& report);

/// The list of {name, unit, value, range, extra} that dashboard actions take as "customSmallerIsBetter": medians in ns.
[[nodiscard]] std::string custom_json(const Report& report);

/// Prometheus text exposition 0.0.4, in base units (seconds, bytes, ratios of 1), for a textfile collector or a push
/// gateway.
[[nodiscard]] std::string prometheus_text(const Report& report);

/// RFC 4180 with a header line: one line a case, every axis a column of its own. Times in ns.
[[nodiscard]] std::string csv_text(const Report& report);

struct MarkdownOptions {
  std::string link = {};  // of the dashboard or the job; empty: none
  std::size_t max_rows = 20;
};
/// For a pull request: the verdict first, then the cases that are not right, then what was measured.
[[nodiscard]] std::string report_markdown(const Report& report, const MarkdownOptions& options = {});

/// Names that `export_as` takes.
inline constexpr std::array<std::string_view, 6> kExportFormats = {"csv",   "custom",   "gbench",
                                                                   "junit", "markdown", "prometheus"};

/// `format` is one of kExportFormats; `link` is for those that show one. Throws ReportError otherwise.
[[nodiscard]] std::string export_as(std::string_view format, const Report& report, const std::string& link = {});

}  // namespace mla::reports
