// Reading a file whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace mla::reports::detail {

/// Bytes that a parser may read, and ignores, behind the end of a text.
inline constexpr std::size_t kReadAhead = 64;

/// Contents of a regular file of at most kMaxReportBytes, with kReadAhead bytes of unused capacity. Throws ReportError
/// without the path.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace mla::reports::detail
