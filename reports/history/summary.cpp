#include "reports/history/summary.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/detail/sections.hpp"
#include "reports/detail/table.hpp"
#include "reports/detail/text.hpp"

namespace mla::reports {
namespace {

constexpr std::size_t kMaxSteps = 20;
constexpr int kMinColumns = 60;

std::string steps_table(const HistoryGroup& group, const SummaryStyle& style) {
  std::vector<std::pair<const HistoryCase*, const Step*>> steps;
  for (const HistoryCase& entry : group.cases) {
    for (const Step& step : entry.trend.steps) steps.emplace_back(&entry, &step);
  }
  if (steps.empty()) return "  no lasting change\n";
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.second->run > b.second->run; });
  detail::Table table({{"lasting change", detail::Align::left},
                       {"by", detail::Align::right},
                       {"since", detail::Align::left},
                       {"commit", detail::Align::left},
                       {"accepted", detail::Align::left}});
  for (std::size_t i = 0; i < std::min(kMaxSteps, steps.size()); ++i) {
    const auto& [entry, step] = steps[i];
    const HistoryRun& run = group.runs[step->run];
    const detail::Ink ink = step->accepted      ? detail::Ink::none
                            : step->ratio > 1.0 ? detail::Ink::red
                                                : detail::Ink::green;
    table.add({fmt::format("{} @{}", entry->name, entry->provider), detail::percent_text(step->ratio),
               run.started_utc.substr(0, 10), run.git_sha.substr(0, 10), step->accepted.value_or("")},
              ink, /*inked_column=*/1);
  }
  std::string text = table.text(std::max(style.columns, kMinColumns), style.colour);
  if (steps.size() > kMaxSteps) text += fmt::format("... and {} older\n", steps.size() - kMaxSteps);
  return text;
}

}  // namespace

std::string history_text(const History& history, const SummaryStyle& style) {
  std::string text;
  for (const HistoryGroup& group : history.groups) {
    const HistoryRun& newest = group.runs.back();
    text += fmt::format("\nhistory of {}, {}: {} since {}\n", group.fingerprint, detail::one_line(newest.device),
                        detail::plural(group.runs.size(), "run"), group.runs.front().started_utc.substr(0, 10));
    text += steps_table(group, style);
    const auto once = std::count_if(group.cases.begin(), group.cases.end(),
                                    [](const HistoryCase& entry) { return entry.trend.unconfirmed.has_value(); });
    if (once > 0) {
      text += fmt::format("  {} off the level in the last run alone: the next run tells\n",
                          detail::plural(static_cast<std::size_t>(once), "case"));
    }
  }
  return text;
}

}  // namespace mla::reports
