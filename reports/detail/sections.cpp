#include "reports/detail/sections.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/detail/text.hpp"

namespace mla::reports::detail {
namespace {

template <class Predicate>
void add_section(std::vector<Section>& sections, const Comparison& comparison, Section section, Predicate belongs) {
  for (const CaseComparison& entry : comparison.cases) {
    if (belongs(entry)) section.cases.push_back(&entry);
  }
  if (!section.cases.empty()) sections.push_back(std::move(section));
}

std::string_view text_of(CompareExit code) {
  switch (code) {
    case CompareExit::ok: return "OK";
    case CompareExit::regression: return "REGRESSION";
    case CompareExit::wrong_result: return "WRONG RESULT";
    case CompareExit::invalid: return "INVALID COMPARISON";
    case CompareExit::missing_cases: return "MISSING CASES";
  }
  return "UNKNOWN";
}

}  // namespace

std::vector<Section> sections_of(const Comparison& comparison) {
  std::vector<Section> sections;
  const auto with_change = [](Change change) {
    return [change](const CaseComparison& entry) { return entry.change == change; };
  };
  const auto with_speed = [](Speed speed) {
    return [speed](const CaseComparison& entry) { return entry.speed == speed; };
  };
  add_section(sections, comparison, {"wrong result", false, true, {}}, with_change(Change::wrong));
  add_section(sections, comparison, {"still failing", false, true, {}}, with_change(Change::still_wrong));
  add_section(sections, comparison, {"missing", false, true, {}}, with_change(Change::missing));
  add_section(sections, comparison, {"no longer run", false, true, {}}, with_change(Change::unchecked));
  add_section(sections, comparison, {"not comparable", true, true, {}}, with_speed(Speed::invalid));
  add_section(sections, comparison, {"regressed", true, true, {}}, with_speed(Speed::regressed));
  add_section(sections, comparison, {"improved", true, false, {}}, with_speed(Speed::improved));
  add_section(sections, comparison, {"inconclusive", true, false, {}}, with_speed(Speed::inconclusive));
  add_section(sections, comparison, {"fixed", false, false, {}}, with_change(Change::fixed));
  add_section(sections, comparison, {"verdict changed", false, false, {}}, with_change(Change::changed));
  add_section(sections, comparison, {"new", false, false, {}}, with_change(Change::added));
  const auto size = [](const CaseComparison* entry) {
    if (!entry->ratio) return 0.0;
    return entry->speed == Speed::inconclusive ? entry->ratio->high / entry->ratio->low
                                               : std::max(entry->ratio->estimate, 1 / entry->ratio->estimate);
  };
  for (Section& section : sections) {
    if (!section.timed) continue;
    std::stable_sort(section.cases.begin(), section.cases.end(),
                     [&](const auto* a, const auto* b) { return size(a) > size(b); });
  }
  return sections;
}

std::string percent_text(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string verdicts_text(const CaseComparison& entry) {
  return fmt::format("{} -> {}", entry.base ? name_of(*entry.base) : "none",
                     entry.next ? name_of(*entry.next) : "none");
}

std::string kernels_text(const CaseComparison& entry) {
  return entry.kernel_changed ? fmt::format("{} -> {}", entry.base_kernel, entry.next_kernel) : std::string();
}

std::string verdict_line(const Comparison& comparison) {
  const Tally& tally = comparison.tally;
  const CompareExit code = comparison.exit();
  std::string reason;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) reason += fmt::format("{}{} {}", reason.empty() ? ": " : ", ", count, what);
  };
  add(tally.wrong, "wrong");
  add(tally.missing, comparison.options.allow_missing ? "missing (allowed)" : "missing");
  add(tally.invalid, "not comparable");
  add(tally.regressed, "regressed");
  add(tally.inconclusive, "inconclusive");
  add(tally.unexpected_pass, "unexpectedly passed");
  if (tally.matched == 0) reason += reason.empty() ? ": no case in both reports" : ", no case in both reports";
  return fmt::format("{} (exit {}){}", text_of(code), static_cast<int>(code), reason);
}

std::string run_line(std::string_view name, const Run& run) {
  std::string line =
      fmt::format("{}: {}", one_line(name), run.git_sha.empty() ? "no commit" : run.git_sha.substr(0, 12));
  if (run.git_dirty) line += "+";
  if (!run.git_branch.empty()) line += fmt::format(" ({})", one_line(run.git_branch));
  return line + fmt::format(", {}, run {}", run.started_utc, one_line(run.id));
}

std::string counts_line(const Comparison& comparison) {
  std::string line = fmt::format("{} in both", plural(comparison.tally.matched, "case"));
  const auto add = [&](std::string_view what, auto belongs) {
    const auto count = std::count_if(comparison.cases.begin(), comparison.cases.end(), belongs);
    if (count > 0) line += fmt::format(", {} {}", count, what);
  };
  for (const Speed speed : {Speed::same, Speed::improved, Speed::regressed, Speed::inconclusive, Speed::invalid}) {
    add(speed == Speed::invalid ? "not comparable" : name_of(speed),
        [speed](const CaseComparison& entry) { return entry.speed == speed; });
  }
  add("with a changed kernel", [](const CaseComparison& entry) { return entry.kernel_changed; });
  for (const Change change : {Change::wrong, Change::still_wrong, Change::fixed, Change::missing, Change::unchecked,
                              Change::added, Change::changed}) {
    static constexpr auto text = [](Change which) -> std::string_view {
      switch (which) {
        case Change::wrong: return "wrong";
        case Change::still_wrong: return "still failing";
        case Change::unchecked: return "no longer run";
        case Change::added: return "new";
        case Change::changed: return "with another verdict";
        default: return name_of(which);
      }
    };
    add(text(change), [change](const CaseComparison& entry) { return entry.change == change; });
  }
  return line;
}

}  // namespace mla::reports::detail
