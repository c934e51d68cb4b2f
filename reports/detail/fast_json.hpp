// The quick way into a document, for text that turns out to be right.
#pragma once

#include <optional>
#include <string_view>

#include "reports/report.hpp"

namespace mla::reports::detail {

/// What parse_strict returns, by simdjson in a third of the time; none where anything is wrong with the text, or only
/// unusual. It says nothing of what: parse_strict does.
[[nodiscard]] std::optional<Json> parse_fast(std::string_view text);

}  // namespace mla::reports::detail
