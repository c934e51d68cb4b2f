// The page's files, and those of the packages that it uses, as the build found them.
#pragma once

#include <span>
#include <string_view>

namespace mla::reports::parts {

extern const std::string_view kHtml;  // a template: fields are @NAME@
extern const std::string_view kCss;
extern const std::string_view kJs;

extern const std::string_view kChartsAbsent;  // why the build has no chart library; empty where it has
// Empty where it has not.
extern const std::string_view kChartLibrary;  // name and version
extern const std::string_view kChartJs;
extern const std::string_view kChartCss;
extern const std::string_view kNotices;  // licences of what the page contains
extern const std::span<const unsigned char> kFont;

}  // namespace mla::reports::parts
