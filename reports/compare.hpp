// Two reports, one verdict: what a gate in CI asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/margins.hpp"
#include "reports/report.hpp"

namespace mla::reports {

struct CompareOptions {
  double margin = 0.02;        // a change of this share of the base time is one that matters
  double floor_ns = 500;       // a change below this cannot be told from the clock's granularity
  bool allow_missing = false;  // vanished cases are shown but do not fail the comparison
  bool strict = false;         // an inconclusive case, or an unexpected pass, counts as a regression
  Margins margins = {};        // of single cases; `margin` is for those that they do not name
  std::string base_name = "BASE";
  std::string next_name = "NEW";
};

/// What became of a case's correctness.
enum class Change : std::uint8_t {
  unchanged,
  fixed,        // wrong in BASE, right in NEW
  wrong,        // wrong in NEW, and right, known or absent in BASE
  still_wrong,  // wrong in both
  missing,      // in BASE only
  unchecked,    // ran in BASE, skipped or unimplemented in NEW: vanished as well
  added,        // in NEW only
  changed,      // any other pair of verdicts, known_failure and unexpected_pass among them
};
[[nodiscard]] std::string_view name_of(Change change);

/// What became of a case's speed.
enum class Speed : std::uint8_t {
  not_compared,  // not measured in both
  same,
  improved,
  regressed,
  inconclusive,  // the interval of the ratio allows both a change that matters and none
  invalid,       // times that must not be compared; `note` says why
};
[[nodiscard]] std::string_view name_of(Speed speed);

/// Time in NEW over time in BASE, above 1 for slower, with a 95 % confidence interval.
struct Ratio {
  double estimate = 1;
  double low = 1;
  double high = 1;
  double base_ns = 0;
  double next_ns = 0;
  std::size_t base_launches = 0;
  std::size_t next_launches = 0;
  double margin = 0;            // the change that had to be exceeded: a share, floor and lack of launches included
  std::optional<double> clock;  // compute clock in NEW over that in BASE, where drivers told both
  /// The share by which the time must change for 80 % of such comparisons to flag it; none with too few launches.
  std::optional<double> detectable;
};

struct CaseComparison {
  std::string key;
  std::string repro;  // of NEW where the case is there
  std::string problem;
  std::string provider;
  std::string device;
  std::string name;  // short name, or the problem
  std::optional<Verdict> base;
  std::optional<Verdict> next;
  std::optional<Reason> reason;  // of NEW
  Change change = Change::unchanged;
  Speed speed = Speed::not_compared;
  std::optional<Ratio> ratio;
  bool canary = false;  // its change was taken for the machine's
  bool kernel_changed = false;
  std::string base_kernel;  // "name variant digest"
  std::string next_kernel;
  std::string note;
};

/// Exit codes of a comparison; the same numbers as those of the command line.
enum class CompareExit : int { ok = 0, regression = 1, wrong_result = 2, invalid = 3, missing_cases = 5 };

/// Numbers of cases that decide the exit code.
struct Tally {
  std::size_t wrong = 0;    // wrong and still_wrong
  std::size_t missing = 0;  // missing and unchecked
  std::size_t invalid = 0;
  std::size_t regressed = 0;
  std::size_t inconclusive = 0;
  std::size_t unexpected_pass = 0;
  std::size_t matched = 0;  // in both reports
};

/// A wrong result beats a missing case, which beats an invalid comparison, which beats a regression: each later verdict
/// presumes that the earlier questions were answered well. A comparison in which no case matched is invalid.
[[nodiscard]] CompareExit exit_code(const Tally& tally, bool allow_missing, bool strict);

/// By how much the cases changed that cannot have changed: the machine's clock, its power limit, its neighbours.
struct CanaryDrift {
  std::size_t cases = 0;
  double ratio = 1;  // median of theirs, NEW over BASE
};

struct Comparison {
  CompareOptions options;
  Run base;
  Run next;
  std::string base_fingerprint;
  std::string next_fingerprint;
  std::vector<CaseComparison> cases;  // in NEW's order, then those missing from it
  std::optional<CanaryDrift> drift;   // taken off the ratios
  std::vector<std::string> notes;     // one line each, on the comparison as a whole
  Tally tally;

  [[nodiscard]] CompareExit exit() const { return exit_code(tally, options.allow_missing, options.strict); }
};

/// Matches cases by key.
///
/// Speed: the unit of replication is the launch, since samples of one launch share its memory placement and clock. With
/// at least kMinLaunches launches on each side, the logarithms of the launches' medians are tested against the margin
/// for all cases together (statistics/decision.hpp): REGRESSED, IMPROVED, SAME, or INCONCLUSIVE with the change that
/// would have been found. With fewer launches the interval holds the noise within a launch only; such a case is never
/// SAME, and is flagged only where that whole interval lies beyond kFewLaunchesMargin. Different fingerprints, inputs,
/// timers or cache regimes: INVALID.
///
/// Two sessions may differ by the machine. Where canaries are named, cases whose code is the same in every build, the
/// median of their ratios is taken off every ratio; beyond kMostCanaryDrift, or with no canary left, every time is
/// INVALID. Where the compute clock is known on both sides, a verdict that cycles contradict is INCONCLUSIVE. A change
/// also has to exceed `floor_ns`, and 1.5 times what the case changed by between runs of one build.
[[nodiscard]] Comparison compare(const Report& base, const Report& next, const CompareOptions& options = {});

/// Simulated with 300 cases of 0.3 to 1.2 % spread, same build twice: no false alarm at 8 launches and more, even where
/// 5 % of launches take 10 % longer; at 5 launches 0.3 a comparison then, since three such launches are the median.
inline constexpr std::size_t kMinLaunches = 5;
/// A machine that changed by more may have changed cases by different amounts.
inline constexpr double kMostCanaryDrift = 0.015;
/// Launch-to-launch outliers of single launches reach some 10 to 50 %, at 2 % of launches.
inline constexpr double kFewLaunchesMargin = 0.25;

struct TextStyle {
  int columns = 100;
  bool colour = false;
};

/// For a terminal: changed cases, counts, and the verdict in the last line. ASCII only.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, const TextStyle& style = {});
struct ComparisonMarkdownOptions {
  std::string link = {};  // of the dashboard or the job; empty: none
  std::size_t max_rows = 20;
};
/// For a pull request: the verdict first, then tables of changed cases, at most `max_rows` rows each.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison,
                                              const ComparisonMarkdownOptions& options = {});
/// Document of schema mla-harness-comparison: every case.
[[nodiscard]] Json comparison_json(const Comparison& comparison);

}  // namespace mla::reports
