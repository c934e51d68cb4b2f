// Many reports of one set of cases, as series over time: only what a trend needs, so that thousands fit in memory.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports {

/// What a history keeps of a report's header.
struct HistoryRun {
  std::string path;  // of the report
  std::string id;
  std::string started_utc;
  std::string fingerprint;
  std::string host;
  std::string device;  // name of the GPU, or of the processor
  std::string git_sha;
  std::string git_branch;
  bool git_dirty = false;
  bool complete = false;
  Counts counts;
};

/// One case in one run. Floats hold times to 1e-7, far below what a median is good for.
struct HistoryPoint {
  std::optional<Verdict> verdict;  // none: the run does not hold the case
  float median_ns = 0;             // 0: not measured; else ci95_low_ns <= median_ns <= ci95_high_ns
  float ci95_low_ns = 0;
  float ci95_high_ns = 0;
};

/// A lasting change of a case's time.
struct Step {
  std::size_t run = 0;                  // the first one at the new level
  double ratio = 1;                     // of the new level to the one before
  std::optional<std::string> accepted;  // a person's note that the change is known and wanted
};

struct Trend {
  std::size_t measured = 0;  // runs that hold a time
  std::vector<Step> steps;
  std::vector<double> levels_ns;  // before the first step, between steps, after the last: one more than steps; empty
                                  // where nothing was measured
  /// The last measured run alone lies off the level, by this ratio: a second one must confirm it.
  std::optional<double> unconfirmed;
};

struct HistoryCase {
  std::string key;
  std::string problem;
  std::string provider;
  std::string name;                  // short name, or the problem
  std::vector<HistoryPoint> points;  // one a run of the group
  Trend trend;
};

/// Runs whose times may be compared, oldest first.
struct HistoryGroup {
  std::string fingerprint;
  std::vector<HistoryRun> runs;
  std::vector<HistoryCase> cases;
};

struct History {
  std::vector<HistoryGroup> groups;  // that of the newest run first
  std::vector<std::string> skipped;  // "path: reason", one line each: files that are no reports, repeated runs
};

struct HistoryOptions {
  std::size_t last = 1000;  // newest runs kept of a group
  double margin = 0.02;     // a smaller change is no step
};

/// Collects reports in any order.
class HistoryBuilder {
 public:
  using Case = std::pair<std::size_t, HistoryPoint>;

  /// A number for the case, the same for the same key.
  [[nodiscard]] std::size_t case_number(std::string_view key, std::string_view problem, std::string_view provider,
                                        std::string_view name);
  void add(HistoryRun run, std::vector<Case> cases);
  void add(const std::string& path, const Report& report);
  void skip(std::string line) { skipped_.push_back(std::move(line)); }

  [[nodiscard]] History build(const HistoryOptions& options = {});

 private:
  struct Entry {
    HistoryRun run;
    std::vector<Case> cases;
  };
  [[nodiscard]] HistoryGroup group_of(std::span<Entry> entries) const;

  std::map<std::string, std::size_t, std::less<>> number_of_key_;
  std::vector<HistoryCase> cases_;  // without points
  std::vector<Entry> entries_;
  std::vector<std::string> skipped_;
};

/// What a history keeps of a report.
[[nodiscard]] HistoryRun history_run(const std::string& path, const Report& report);
[[nodiscard]] HistoryPoint history_point(const Case& entry);

}  // namespace mla::reports
