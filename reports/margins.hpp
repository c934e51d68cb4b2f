// What a comparison knows of single cases beforehand: how much of a change matters, how much a case changes by itself,
// and which cases cannot have changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports {

inline constexpr std::string_view kMarginsSchema = "mla-harness-margins";

/// A change by which cases may differ: a share of the base time.
struct MarginRule {
  std::string cases;  // key of a case; '*' stands for any text
  double margin = 0;
  std::string why;
};

/// How much cases changed in comparisons of two runs of one build ("A/A"), where no change is real.
struct Floors {
  std::string fingerprint;  // of the machine and build environment that they were seen on
  std::int64_t comparisons = 0;
  std::map<std::string, std::vector<double>> changes;  // by key: |ln ratio| of each comparison, the newest last

  /// The 95 % quantile of the changes that a case has shown, the largest of fewer than 20; 0 for an unknown case.
  [[nodiscard]] double of(const std::string& key) const;
};

/// Schema file: schema/mla-harness-margins-1.0.schema.json.
struct Margins {
  std::vector<MarginRule> rules;      // the first that matches a case decides
  std::vector<std::string> canaries;  // patterns of cases whose code is the same in every build
  Floors floors;

  /// The rule's margin, else `usual`; in either case no less than kFloorFactor times the case's floor where the floors
  /// are of the machine with this fingerprint.
  [[nodiscard]] double of(const std::string& key, double usual, std::string_view fingerprint) const;
};

/// A change must stand clear of what the case does by itself.
inline constexpr double kFloorFactor = 1.5;
/// Older changes of a case are forgotten: a machine changes too.
inline constexpr std::size_t kMostFloorChanges = 40;

/// Strict JSON. Throws ReportError, whose line begins with the path.
[[nodiscard]] Margins load_margins(const std::filesystem::path& path);
[[nodiscard]] Json margins_json(const Margins& margins);

}  // namespace mla::reports
