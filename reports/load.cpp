#include "reports/load.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "reports/detail/journal_lines.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/error.hpp"
#include "reports/journal.hpp"

namespace mla::reports {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Report load_text(std::string_view text) {
  if (is_blank(text)) throw ReportError("the file is empty");
  if (detail::is_journal(text)) {
    const detail::JournalLines lines = detail::read_journal(text);
    Report report =
        parse_report(assemble(lines.header, lines.cases, {.ended_utc = {}, .complete = false, .elapsed_s = {}}));
    report.warnings.push_back(
        lines.cut_bytes > 0
            ? fmt::format("journal of an interrupted run; its last line was cut off ({} bytes)", lines.cut_bytes)
            : "journal of an interrupted run");
    return report;
  }
  return parse_report(detail::parse_strict(text));
}

}  // namespace

namespace detail {

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
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw ReportError("cannot be read");
  }
  return text;
}

}  // namespace detail

Report load_report(const std::filesystem::path& path) {
  try {
    return load_text(detail::read_file(path));
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace mla::reports
