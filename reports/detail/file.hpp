// Reading a file whole.
#pragma once

#include <filesystem>
#include <string>

namespace mla::reports::detail {

/// Contents of a regular file of at most kMaxReportBytes. Throws ReportError without the path.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace mla::reports::detail
