// A report, a comparison and a history as one HTML file that opens offline.
#pragma once

#include <string>
#include <string_view>

#include "reports/compare.hpp"
#include "reports/history/history.hpp"
#include "reports/report.hpp"

namespace mla::reports {

/// What a page may show beside its report; the pointers may be null.
struct DashboardParts {
  const Comparison* comparison = nullptr;  // in which the report is NEW
  const History* history = nullptr;
  std::string_view view = {};  // the view that the page opens with; empty: the overview
};

/// A self-contained page: no request leaves it (its content security policy forbids them), light and dark, usable by
/// keyboard and screen reader. Samples are thinned to what a plot can show; everything else is there.
[[nodiscard]] std::string dashboard_html(const Report& report, const DashboardParts& parts = {});

/// Name and version of the chart library in this build, "uPlot 1.6.32"; empty where it was built without: the page then
/// has its tables, and no plots.
[[nodiscard]] std::string_view dashboard_charts();
/// Why there is none; empty where there is.
[[nodiscard]] std::string_view dashboard_charts_absent();

}  // namespace mla::reports
