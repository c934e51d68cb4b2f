// Text helpers that keep a hostile value from spoiling a message or a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mla::reports::detail {

/// Control characters (line breaks too) become spaces.
[[nodiscard]] std::string one_line(std::string_view text);

/// At most `width` characters: the middle is replaced by "..", since both ends of a problem word tell most.
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t width);

/// Time with a unit of three significant digits: "812 us", "3.41 ms".
[[nodiscard]] std::string time_text(double ns);

/// Three significant digits without an exponent where that is short.
[[nodiscard]] std::string number_text(double value);

/// "1 case", "2 cases".
[[nodiscard]] std::string plural(std::size_t count, std::string_view noun);

}  // namespace mla::reports::detail
