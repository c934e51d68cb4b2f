#include "reports/export/formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/error.hpp"
#include "reports/export/junit.hpp"

namespace mla::reports {

std::string export_as(std::string_view format, const Report& report, const std::string& link) {
  if (format == "csv") return csv_text(report);
  if (format == "custom") return custom_json(report);
  if (format == "gbench") return benchmark_json(report);
  if (format == "junit") return junit_xml(report);
  if (format == "markdown") return report_markdown(report, {.link = link});
  if (format == "prometheus") return prometheus_text(report);
  throw ReportError(fmt::format("format '{}': must be one of {}", format, fmt::join(kExportFormats, ", ")));
}

}  // namespace mla::reports
