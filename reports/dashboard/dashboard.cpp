#include "reports/dashboard/dashboard.hpp"

#include <map>
#include <string>

#include <fmt/format.h>

#include "reports/dashboard/columns.hpp"
#include "reports/dashboard/page_data.hpp"
#include "reports/dashboard/parts.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

/// JSON inside a script element: nothing in it may end the element or open a comment, and inside JSON '<' occurs in
/// strings only, where it may be written as an escape.
std::string script_data(const Json& json) {
  std::string result;
  for (const char c : dump_strict(json)) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

std::string font_face() {
  if (parts::kFont.empty()) return {};
  return fmt::format(
      "@font-face {{ font-family: Inter; font-weight: 100 900; src: url(data:font/woff2;base64,{}) format(\"woff2\"); "
      "}}",
      base64(parts::kFont));
}

}  // namespace

std::string_view dashboard_charts() {
  return parts::kChartLibrary;
}

std::string_view dashboard_charts_absent() {
  return parts::kChartsAbsent;
}

std::string dashboard_html(const Report& report, const DashboardParts& shown) {
  const std::string title = fmt::format("MLA harness {}", report.run.id);
  const std::map<std::string_view, std::string> fields = {
      {"PAGE_TITLE", escaped(title)},
      {"PAGE_COUNTS", escaped(text_of(report.counts))},
      {"PAGE_NOTICES", std::string(parts::kNotices)},
      {"PAGE_FONT", font_face()},
      {"PAGE_CSS", std::string(parts::kCss)},
      {"CHART_CSS", std::string(parts::kChartCss)},
      {"CHART_JS", std::string(parts::kChartJs)},
      {"PAGE_JS", std::string(parts::kJs)},
      {"PAGE_DATA", script_data(page_data(report, shown))},
  };
  // One pass over the template: a field's text, which may come from a report, is never searched for fields itself.
  std::string html;
  std::string_view rest = parts::kHtml;
  for (std::size_t open = 0; (open = rest.find('@')) != std::string_view::npos;) {
    const std::size_t close = rest.find('@', open + 1);
    html += rest.substr(0, open);
    html += fields.at(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
  html += rest;
  return html;
}

}  // namespace mla::reports
