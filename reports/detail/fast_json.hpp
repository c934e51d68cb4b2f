// The quick way into a document, for text that turns out to be right.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/load.hpp"
#include "reports/report.hpp"

namespace mla::reports::detail {

/// What parse_strict returns, by simdjson in a third of the time; none where anything is wrong with the text, or only
/// unusual. It says nothing of what: parse_strict does.
[[nodiscard]] std::optional<Json> parse_fast(std::string_view text);

/// What parse_report(parse_strict(text)) returns, a case at a time, so that no document of the whole text ever stands
/// in memory; none where anything is wrong with it, or only unusual. Wants kReadAhead bytes of unused capacity.
[[nodiscard]] std::optional<Report> read_fast(const std::string& text, CaseJson keep);

}  // namespace mla::reports::detail
