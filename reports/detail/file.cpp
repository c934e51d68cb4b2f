#include "reports/detail/file.hpp"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "reports/error.hpp"
#include "reports/load.hpp"

namespace mla::reports::detail {

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) throw ReportError("no such file");
  if (error) throw ReportError(error.message());
  if (status.type() == std::filesystem::file_type::directory) throw ReportError("is a directory, not a report");
  // A pipe or device has no size to check before reading.
  if (status.type() != std::filesystem::file_type::regular) throw ReportError("is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw ReportError(error.message());
  if (size > kMaxReportBytes) {
    throw ReportError(fmt::format("{} bytes: a report has at most {}", size, kMaxReportBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  text.reserve(static_cast<std::size_t>(size) + kReadAhead);
  text.resize(static_cast<std::size_t>(size));
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw ReportError("cannot be read");
  }
  return text;
}

}  // namespace mla::reports::detail
