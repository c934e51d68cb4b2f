#include "reports/detail/journal_lines.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/detail/validate.hpp"
#include "reports/error.hpp"

namespace mla::reports::detail {
namespace {

/// Gives each error the number of its line.
template <class Parse>
auto at_line(std::size_t number, Parse&& parse) {
  try {
    return parse();
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("line {}: {}", number, error.what()));
  }
}

}  // namespace

bool is_journal(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = text.substr(0, end);
  // Cheap tests first: an indented report's first line is "{", and a report in one line has its cases in it.
  if (line.size() < 3 || line.find("\"cases\"") != std::string_view::npos) return false;
  return Json::accept(line.begin(), line.end()) && line.find("\"schema\"") != std::string_view::npos;
}

JournalLines read_journal(std::string_view text) {
  JournalLines lines;
  int minor = 0;
  std::set<std::string> keys;
  for (std::size_t number = 1; lines.whole_bytes < text.size(); ++number) {
    const std::size_t end = text.find('\n', lines.whole_bytes);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(lines.whole_bytes, end - lines.whole_bytes);
    at_line(number, [&] {
      Json document = parse_strict(line);
      if (number == 1) {
        minor = parse_header(document, HeaderOf::journal).minor;
        lines.header = std::move(document);
        return;
      }
      const Case parsed = parse_case(document, document, minor);
      if (!keys.insert(parsed.key).second) Field(document).at("key").refuse("an earlier line has this key");
      lines.cases.push_back(std::move(document));
    });
    lines.whole_bytes = end + 1;
  }
  lines.cut_bytes = text.size() - lines.whole_bytes;
  if (lines.header.is_null()) throw ReportError("the journal has no header line");
  return lines;
}

}  // namespace mla::reports::detail
