#include "reports/history/history.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "reports/history/trend.hpp"

namespace mla::reports {

HistoryRun history_run(const std::string& path, const Report& report) {
  const Run& run = report.run;
  const Environment& machine = report.environment;
  return {.path = path,
          .id = run.id,
          .started_utc = run.started_utc,
          .fingerprint = machine.fingerprint,
          .host = machine.host,
          .device = machine.gpu_name.empty() ? machine.cpu_model : machine.gpu_name,
          .git_sha = run.git_sha,
          .git_branch = run.git_branch,
          .git_dirty = run.git_dirty,
          .complete = run.complete,
          .counts = report.counts};
}

HistoryPoint history_point(const Case& entry) {
  HistoryPoint point{.verdict = entry.verdict};
  if (const auto& performance = entry.performance) {
    point.median_ns = static_cast<float>(performance->median_ns);
    point.ci95_low_ns = static_cast<float>(performance->ci95_low_ns);
    point.ci95_high_ns = static_cast<float>(performance->ci95_high_ns);
  }
  return point;
}

std::size_t HistoryBuilder::case_number(std::string_view key, std::string_view problem, std::string_view provider,
                                        std::string_view name) {
  if (const auto known = number_of_key_.find(key); known != number_of_key_.end()) return known->second;
  number_of_key_.emplace(key, cases_.size());
  HistoryCase& added = cases_.emplace_back();
  added.key = key;
  added.problem = problem;
  added.provider = provider;
  added.name = name;
  return cases_.size() - 1;
}

void HistoryBuilder::add(HistoryRun run, std::vector<Case> cases) {
  entries_.push_back({std::move(run), std::move(cases)});
}

void HistoryBuilder::add(const std::string& path, const Report& report) {
  std::vector<Case> cases;
  for (const auto& entry : report.cases) {
    cases.emplace_back(case_number(entry.key, entry.problem, entry.provider, entry.short_name()), history_point(entry));
  }
  add(history_run(path, report), std::move(cases));
}

HistoryGroup HistoryBuilder::group_of(std::span<Entry> entries) const {
  static constexpr auto kAbsent = static_cast<std::size_t>(-1);
  HistoryGroup group;
  group.fingerprint = entries.front().run.fingerprint;
  std::vector<std::size_t> place(cases_.size(), kAbsent);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const auto& [number, point] : entries[i].cases) {
      if (place[number] == kAbsent) {
        place[number] = group.cases.size();
        group.cases.push_back(cases_[number]);
        group.cases.back().points.resize(entries.size());
      }
      group.cases[place[number]].points[i] = point;
    }
    group.runs.push_back(std::move(entries[i].run));
  }
  return group;
}

History HistoryBuilder::build(const HistoryOptions& options) {
  History history;
  history.skipped = std::move(skipped_);
  // UTC in one fixed format: the later time is the larger string.
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.run.fingerprint, a.run.started_utc, a.run.id, a.run.path) <
           std::tie(b.run.fingerprint, b.run.started_utc, b.run.id, b.run.path);
  });
  const auto repeats = [](const Entry& a, const Entry& b) {
    return a.run.fingerprint == b.run.fingerprint && a.run.started_utc == b.run.started_utc && a.run.id == b.run.id;
  };
  std::vector<Entry> kept;
  for (Entry& entry : entries_) {
    if (!kept.empty() && repeats(kept.back(), entry)) {
      history.skipped.push_back(fmt::format("{}: the same run as {}", entry.run.path, kept.back().run.path));
    } else {
      kept.push_back(std::move(entry));
    }
  }
  entries_.clear();
  for (auto first = kept.begin(); first != kept.end();) {
    const auto end = std::find_if(first, kept.end(),
                                  [&](const Entry& entry) { return entry.run.fingerprint != first->run.fingerprint; });
    const auto begin = end - first > static_cast<std::ptrdiff_t>(options.last)
                           ? end - static_cast<std::ptrdiff_t>(options.last)
                           : first;
    history.groups.push_back(group_of({begin, end}));
    first = end;
  }
  std::stable_sort(history.groups.begin(), history.groups.end(), [](const HistoryGroup& a, const HistoryGroup& b) {
    return a.runs.back().started_utc > b.runs.back().started_utc;
  });
  for (HistoryGroup& group : history.groups) {
    for (HistoryCase& entry : group.cases) entry.trend = trend_of(entry.points, options.margin);
  }
  return history;
}

}  // namespace mla::reports
