// The verdicts on speed of one comparison: collected case by case, decided together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare.hpp"
#include "reports/statistics/decision.hpp"

namespace mla::reports::detail {

/// The verdict on a case that a decision about its times is.
[[nodiscard]] Speed speed_of(statistics::Outcome outcome);

class SpeedJudge {
 public:
  /// `options` outlives the judge. `fingerprint` is that of both reports.
  SpeedJudge(const CompareOptions& options, std::string fingerprint)
      : options_(options), fingerprint_(std::move(fingerprint)) {}

  /// Takes in both measurements of a case; `entry` gets its ratio and will stand at `place` among the cases. Where
  /// `objection` is not empty the ratio is shown and not judged.
  void add(const Performance& base, const Performance& next, std::size_t place, const std::string& objection,
           CaseComparison& entry);

  /// Sets the verdicts of the cases taken in.
  void decide(std::vector<CaseComparison>& cases);

  /// Where canaries were asked for and there are some.
  [[nodiscard]] const std::optional<CanaryDrift>& drift() const { return drift_; }
  /// Cases that had too few launches on a side to be judged by launch.
  [[nodiscard]] std::size_t few_launches() const { return few_.size(); }

 private:
  struct Measured {
    std::size_t place;
    statistics::Effect effect;
  };

  [[nodiscard]] bool is_canary(const std::string& key) const;
  void measure_drift();
  void refuse_all(std::vector<CaseComparison>& cases, const std::string& why) const;
  void decide_few(CaseComparison& entry) const;
  void decide_many(std::vector<CaseComparison>& cases);
  [[nodiscard]] std::vector<statistics::Decision> decide_together(const std::vector<statistics::Effect>& effects) const;
  /// Where the clock is known on both sides, times and cycles must tell the same.
  void check_cycles(const std::vector<statistics::Effect>& effects, const std::vector<statistics::Decision>& decisions,
                    std::vector<CaseComparison>& cases) const;

  const CompareOptions& options_;
  std::string fingerprint_;
  std::vector<Measured> many_;    // cases with enough launches
  std::vector<std::size_t> few_;  // places of the others
  std::vector<double> canaries_;  // logarithms of their ratios
  std::optional<CanaryDrift> drift_;
};

/// On each regressed case that was its problem's fastest in BASE, and no longer is: which other provider is. Whoever
/// dispatches between them has to be told.
void name_faster_paths(std::vector<CaseComparison>& cases);

}  // namespace mla::reports::detail
