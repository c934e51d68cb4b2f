#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace mla::isa {

/// The lines of a text, without their ends.
std::vector<std::string_view> lines(std::string_view text);

/// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text);

/// What stands before and after the first `separator`; the second is empty if there is none.
std::pair<std::string_view, std::string_view> split_once(std::string_view text, char separator);

}  // namespace mla::isa
