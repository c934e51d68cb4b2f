// A report as one HTML file that opens offline.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace mla::reports {

/// A self-contained page: no request leaves it (its content security policy forbids them), light and dark, usable by
/// keyboard. Wrong cases first, then charts, then a table to filter and sort. Raw samples are not copied into it.
[[nodiscard]] std::string report_html(const Report& report);

}  // namespace mla::reports
