#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/detail/sections.hpp"
#include "reports/detail/table.hpp"
#include "reports/detail/text.hpp"

namespace mla::reports {
namespace {

using detail::Align;
using detail::Ink;

constexpr std::size_t kMaxRows = 40;
constexpr std::size_t kMaxQuietRows = 10;  // of a section that nobody has to act on

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::size_t rows_of(const detail::Section& section) {
  return std::min(section.cases.size(), section.alarming ? kMaxRows : kMaxQuietRows);
}

/// Each note once, with the first case that has it: in a column it would be the first thing to give way.
std::string notes_of(const detail::Section& section) {
  std::vector<std::pair<std::string_view, std::size_t>> cases_by_note;
  std::string text;
  for (const CaseComparison* entry : section.cases) {
    if (entry->note.empty()) continue;
    const auto known = std::find_if(cases_by_note.begin(), cases_by_note.end(),
                                    [&](const auto& one) { return one.first == entry->note; });
    if (known == cases_by_note.end()) {
      cases_by_note.emplace_back(entry->note, 1);
    } else {
      ++known->second;
    }
  }
  for (std::size_t i = 0; i < std::min(cases_by_note.size(), kMaxQuietRows); ++i) {
    const auto& [note, count] = cases_by_note[i];
    const auto first = std::find_if(section.cases.begin(), section.cases.end(),
                                    [&](const auto* entry) { return entry->note == note; });
    text += fmt::format("  {} @{}{}: {}\n", detail::one_line((*first)->name), (*first)->provider,
                        count > 1 ? fmt::format(" and {} more", count - 1) : "", detail::one_line(note));
  }
  return text;
}

std::string timed_section(const detail::Section& section, const TextStyle& style) {
  detail::Table table({{"case", Align::left},
                       {"change", Align::right},
                       {"95 % interval", Align::left},
                       {"base", Align::right},
                       {"new", Align::right},
                       {"launches", Align::right},
                       {"detectable", Align::right},
                       {"kernel", Align::left}});
  for (std::size_t i = 0; i < rows_of(section); ++i) {
    const CaseComparison& entry = *section.cases[i];
    std::vector<std::string> row(8);
    row[0] = fmt::format("{} @{}", entry.name, entry.provider);
    if (const auto& ratio = entry.ratio) {
      row[1] = detail::percent_text(ratio->estimate);
      row[2] = fmt::format("{} to {}", detail::percent_text(ratio->low), detail::percent_text(ratio->high));
      row[3] = detail::time_text(ratio->base_ns);
      row[4] = detail::time_text(ratio->next_ns);
      row[5] = fmt::format("{}/{}", ratio->base_launches, ratio->next_launches);
    }
    // A silent pass on a noisy case must be visible as one.
    if (entry.speed == Speed::inconclusive && entry.ratio && entry.ratio->detectable) {
      row[6] = fmt::format("{:.1f} %", 100 * *entry.ratio->detectable);
    }
    row[7] = entry.kernel_changed ? "changed" : "";
    table.add(std::move(row));
  }
  return table.text(style.columns, false) + notes_of(section);
}

std::string verdict_section(const detail::Section& section) {
  std::string text;
  for (std::size_t i = 0; i < rows_of(section); ++i) {
    const CaseComparison& entry = *section.cases[i];
    text += fmt::format("  {}  {} @{}\n", detail::verdicts_text(entry), detail::one_line(entry.name), entry.provider);
    if (!section.alarming) continue;
    if (entry.reason) {
      text +=
          fmt::format("    {}: {}\n", detail::one_line(entry.reason->kind), detail::one_line(entry.reason->message));
    }
    if (entry.kernel_changed) text += fmt::format("    kernel {}\n", detail::one_line(detail::kernels_text(entry)));
    text += fmt::format("    {}\n", detail::one_line(entry.repro));
  }
  return text;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const TextStyle& style) {
  std::string text = detail::run_line(comparison.options.base_name, comparison.base) + '\n' +
                     detail::run_line(comparison.options.next_name, comparison.next) + '\n';
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", detail::one_line(note));
  for (const detail::Section& section : detail::sections_of(comparison)) {
    const std::string title = fmt::format("{} ({})", upper(section.title), section.cases.size());
    text += '\n' + detail::inked(title, section.alarming ? Ink::red : Ink::none, style.colour) + '\n';
    text += section.timed ? timed_section(section, style) : verdict_section(section);
    if (const std::size_t rows = rows_of(section); rows < section.cases.size()) {
      text += fmt::format("  ... and {} more\n", section.cases.size() - rows);
    }
  }
  text += '\n' + detail::counts_line(comparison) + '\n';
  const bool good = comparison.exit() == CompareExit::ok;
  return text + detail::inked(detail::verdict_line(comparison), good ? Ink::green : Ink::red, style.colour) + '\n';
}

}  // namespace mla::reports
