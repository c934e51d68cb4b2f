#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/detail/markdown.hpp"
#include "reports/detail/sections.hpp"
#include "reports/detail/text.hpp"

namespace mla::reports {
namespace {

std::string case_name(const CaseComparison& entry) {
  return detail::escape_markdown(fmt::format("{} @{}", entry.name, entry.provider));
}

std::string timed_row(const CaseComparison& entry) {
  if (!entry.ratio) return fmt::format("| {} | | | | | {} |\n", case_name(entry), detail::escape_markdown(entry.note));
  const Ratio& ratio = *entry.ratio;
  std::string note = entry.note;
  if (entry.kernel_changed) note += note.empty() ? "kernel changed" : "; kernel changed";
  return fmt::format("| {} | {} | {} to {} | {} | {} | {} |\n", case_name(entry), detail::percent_text(ratio.estimate),
                     detail::percent_text(ratio.low), detail::percent_text(ratio.high),
                     detail::time_text(ratio.base_ns), detail::time_text(ratio.next_ns), detail::escape_markdown(note));
}

std::string verdict_row(const CaseComparison& entry) {
  const std::string reason = entry.reason ? fmt::format("{}: {}", entry.reason->kind, entry.reason->message) : "";
  return fmt::format("| {} | {} | {} | {} |\n", case_name(entry), detail::escape_markdown(detail::verdicts_text(entry)),
                     detail::escape_markdown(reason), detail::code_span(entry.repro));
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison, const ComparisonMarkdownOptions& options) {
  std::string text =
      fmt::format("### MLA harness: {}\n\n{}.", detail::verdict_line(comparison), detail::counts_line(comparison));
  if (!options.link.empty()) text += " " + detail::link_text("Dashboard", options.link);
  text += "\n\n";
  for (const detail::Section& section : detail::sections_of(comparison)) {
    text += fmt::format("**{}** ({})\n\n", section.title, section.cases.size());
    text += section.timed ? "| case | change | 95 % interval | base | new | note |\n|---|---:|---|---:|---:|---|\n"
                          : "| case | verdict | reason | repeat with |\n|---|---|---|---|\n";
    // What nobody has to act on stays short.
    const std::size_t rows = std::min(section.cases.size(),
                                      section.alarming ? options.max_rows : std::min<std::size_t>(options.max_rows, 5));
    for (std::size_t i = 0; i < rows; ++i) {
      text += section.timed ? timed_row(*section.cases[i]) : verdict_row(*section.cases[i]);
    }
    if (rows < section.cases.size()) text += fmt::format("\n... and {} more.\n", section.cases.size() - rows);
    text += '\n';
  }
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", detail::escape_markdown(note));
  text += fmt::format("- {}\n- {}\n",
                      detail::escape_markdown(detail::run_line(comparison.options.base_name, comparison.base)),
                      detail::escape_markdown(detail::run_line(comparison.options.next_name, comparison.next)));
  return text;
}

}  // namespace mla::reports
