// Strict conversions between the text of one field of a problem word and its value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mla::harness {

/// Whole-text integer within [lowest, highest]; throws UsageError naming `field`.
[[nodiscard]] std::int64_t parse_integer(std::string_view field, std::string_view text, std::int64_t lowest,
                                         std::int64_t highest);

/// Whole-text unsigned 64-bit integer; throws UsageError naming `field`.
[[nodiscard]] std::uint64_t parse_unsigned(std::string_view field, std::string_view text);

/// Whole-text finite positive number that float32 can hold as a normal value; throws UsageError naming `field`.
[[nodiscard]] double parse_scale(std::string_view field, std::string_view text);

/// List of values joined by '+', where `NxV` stands for N times V: "8192+1+3x64". At most `most` values.
[[nodiscard]] std::vector<std::int64_t> parse_list(std::string_view field, std::string_view text, std::int64_t lowest,
                                                   std::int64_t highest, std::size_t most);

/// The shortest text that `parse_list` reads back.
[[nodiscard]] std::string print_list(const std::vector<std::int64_t>& values);

}  // namespace mla::harness
