// Text inside Markdown that stays text.
#pragma once

#include <string>
#include <string_view>

namespace mla::reports::detail {

/// Text inside a table cell or a line: no mark-up, no HTML, no cell border, no mention of a user.
[[nodiscard]] std::string escape_markdown(std::string_view text);

/// A code span; its fence is longer than any run of backticks inside.
[[nodiscard]] std::string code_span(std::string_view text);

/// A link; nothing in `url` ends it early.
[[nodiscard]] std::string link_text(std::string_view words, std::string_view url);

}  // namespace mla::reports::detail
