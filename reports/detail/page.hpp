// The parts of the HTML page, built in from the files in reports/page/.
#pragma once

#include <string_view>

namespace mla::reports::detail {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace mla::reports::detail
