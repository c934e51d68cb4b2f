#include "reports/load.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "reports/detail/fast_json.hpp"
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

/// Text that is no report of the usual form: says what is wrong with it, if anything is.
Report load_carefully(std::string_view text) {
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

Report load_text(const std::string& text, CaseJson keep) {
  if (is_blank(text)) throw ReportError("the file is empty");
  if (auto report = detail::read_fast(text, keep)) return *std::move(report);
  Report report = load_carefully(text);
  if (keep == CaseJson::drop) {
    for (Case& entry : report.cases) entry.json = nullptr;
  }
  return report;
}

}  // namespace

Report load_report(const std::filesystem::path& path, CaseJson keep) {
  try {
    return load_text(detail::read_file(path), keep);
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace mla::reports
