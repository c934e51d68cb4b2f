// The lines of a journal, read back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports::detail {

struct JournalLines {
  Json header;
  std::vector<Json> cases;      // with what later lines add to them
  std::size_t whole_bytes = 0;  // up to the end of the last whole line
  std::size_t cut_bytes = 0;    // of a last line without its line break
};

/// The first line alone is a document without cases. (A report is one line with cases, or many lines none of which is.)
[[nodiscard]] bool is_journal(std::string_view text);

/// Adds the line of a later launch, {"key", "launch": {"samples_ns"}} or {"key", "failure"}, to its case. Throws
/// ReportError where the case cannot have one.
void add_launch(Json& report_case, const Json& line);

/// Reads and checks every line. A last line without a line break was cut off in mid-write and is left out; any other
/// malformed line, and a second line of one case, throws ReportError with its line number.
[[nodiscard]] JournalLines read_journal(std::string_view text);

}  // namespace mla::reports::detail
