#include "reports/load.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "reports/detail/file.hpp"
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

Report load_report(const std::filesystem::path& path) {
  try {
    return load_text(detail::read_file(path));
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace mla::reports
