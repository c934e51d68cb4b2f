// JSON parsing that refuses what nlohmann_json lets through, and says where.
#pragma once

#include <string_view>

#include "reports/report.hpp"

namespace mla::reports::detail {

/// A report nests 8 deep and its widest object has some 25 members. The limits leave room, and keep a hostile file from
/// exhausting the stack or making the search for repeated members quadratic.
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxMembers = 512;

/// Throws ReportError: syntax (with byte offset), truncation, repeated member (with its JSON pointer), depth, width.
[[nodiscard]] Json parse_strict(std::string_view text);

/// Pointer reference token of RFC 6901: "~" and "/" escaped.
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace mla::reports::detail
