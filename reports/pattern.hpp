// Naming several cases at once.
#pragma once

#include <string_view>

namespace mla::reports {

/// Whether `text` matches a pattern in which '*' stands for any text, the empty one included.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

}  // namespace mla::reports
