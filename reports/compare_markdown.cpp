#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/detail/sections.hpp"
#include "reports/detail/text.hpp"

namespace mla::reports {
namespace {

/// Text inside a table cell or a line: no mark-up, no HTML, no cell border, no mention of a user.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : detail::one_line(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '@': result += "&#64;"; break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\': result += '\\'; [[fallthrough]];
      default: result += c;
    }
  }
  return result;
}

/// A code span; its fence is longer than any run of backticks inside.
std::string code(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string_view pad = longest > 0 ? " " : "";
  std::string body = detail::one_line(text);
  // Table cells end at a bare '|' even inside a code span.
  for (std::size_t at = 0; (at = body.find('|', at)) != std::string::npos; at += 2) body.insert(at, 1, '\\');
  return fmt::format("{}{}{}{}{}", fence, pad, body, pad, fence);
}

std::string case_name(const CaseComparison& entry) {
  return escaped(fmt::format("{} @{}", entry.name, entry.provider));
}

std::string timed_row(const CaseComparison& entry) {
  if (!entry.ratio) return fmt::format("| {} | | | | | {} |\n", case_name(entry), escaped(entry.note));
  const Ratio& ratio = *entry.ratio;
  std::string note = entry.note;
  if (entry.kernel_changed) note += note.empty() ? "kernel changed" : "; kernel changed";
  return fmt::format("| {} | {} | {} to {} | {} | {} | {} |\n", case_name(entry), detail::percent_text(ratio.estimate),
                     detail::percent_text(ratio.low), detail::percent_text(ratio.high),
                     detail::time_text(ratio.base_ns), detail::time_text(ratio.next_ns), escaped(note));
}

std::string verdict_row(const CaseComparison& entry) {
  const std::string reason = entry.reason ? fmt::format("{}: {}", entry.reason->kind, entry.reason->message) : "";
  return fmt::format("| {} | {} | {} | {} |\n", case_name(entry), escaped(detail::verdicts_text(entry)),
                     escaped(reason), code(entry.repro));
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison, std::size_t max_rows) {
  std::string text =
      fmt::format("### MLA harness: {}\n\n{}.\n\n", detail::verdict_line(comparison), detail::counts_line(comparison));
  for (const detail::Section& section : detail::sections_of(comparison)) {
    text += fmt::format("**{}** ({})\n\n", section.title, section.cases.size());
    text += section.timed ? "| case | change | 95 % interval | base | new | note |\n|---|---:|---|---:|---:|---|\n"
                          : "| case | verdict | reason | repeat with |\n|---|---|---|---|\n";
    // What nobody has to act on stays short.
    const std::size_t rows =
        std::min(section.cases.size(), section.alarming ? max_rows : std::min<std::size_t>(max_rows, 5));
    for (std::size_t i = 0; i < rows; ++i) {
      text += section.timed ? timed_row(*section.cases[i]) : verdict_row(*section.cases[i]);
    }
    if (rows < section.cases.size()) text += fmt::format("\n... and {} more.\n", section.cases.size() - rows);
    text += '\n';
  }
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", escaped(note));
  text += fmt::format("- {}\n- {}\n", escaped(detail::run_line(comparison.options.base_name, comparison.base)),
                      escaped(detail::run_line(comparison.options.next_name, comparison.next)));
  return text;
}

}  // namespace mla::reports
