// The groups in which changed cases are shown, gravest first: the same in every form of a comparison.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/compare.hpp"

namespace mla::reports::detail {

struct Section {
  std::string_view title;
  bool timed = false;  // a table of ratios, rather than of verdicts
  bool alarming = false;
  std::vector<const CaseComparison*> cases;
};

/// The sections that have a case. INCONCLUSIVE ones come widest first: that is where more launches help.
[[nodiscard]] std::vector<Section> sections_of(const Comparison& comparison);

/// "+5.1 %".
[[nodiscard]] std::string percent_text(double ratio);
/// "passed -> failed".
[[nodiscard]] std::string verdicts_text(const CaseComparison& entry);
/// "a1b2 -> c3d4" where the kernel changed, else empty.
[[nodiscard]] std::string kernels_text(const CaseComparison& entry);
/// "REGRESSION (exit 1)" and the reason.
[[nodiscard]] std::string verdict_line(const Comparison& comparison);
/// "BASE report.json: 4f2a9c main, started 2026-12-01T01:02:03Z, 12 cases".
[[nodiscard]] std::string run_line(std::string_view name, const Run& run);
/// "12 cases in both: same 10, regressed 1, ...".
[[nodiscard]] std::string counts_line(const Comparison& comparison);

}  // namespace mla::reports::detail
