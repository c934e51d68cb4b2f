// Two compilations of the GPU kernels, one verdict: regressions of the generated code, seen without a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare.hpp"
#include "reports/isa_report.hpp"

namespace mla::reports {

/// What became of one number of a kernel.
enum class IsaChange : std::uint8_t {
  changed,  // not budgeted: for the reader to judge
  better,   // budgeted, and further from its limit
  worse,    // budgeted, and nearer to its limit or beyond it
};
[[nodiscard]] std::string_view name_of(IsaChange change);

struct IsaDifference {
  std::string quantity;  // "resources.vgpr"
  std::int64_t base = 0;
  std::int64_t next = 0;
  IsaChange change = IsaChange::changed;
  std::optional<std::int64_t> limit;  // of NEW, where it is budgeted
};

enum class IsaPresence : std::uint8_t { both, added, removed };
[[nodiscard]] std::string_view name_of(IsaPresence presence);

struct IsaKernelComparison {
  std::string target;
  std::string name;
  IsaPresence presence = IsaPresence::both;
  std::vector<IsaDifference> differences;  // worse ones first; none for a kernel that is in one report only
};

struct IsaComparison {
  std::string base_name;
  std::string next_name;
  std::string base_compiler;
  std::string next_compiler;
  std::size_t kernels = 0;                   // in both
  std::vector<IsaKernelComparison> changed;  // those that differ, in NEW's order, then those missing from it

  [[nodiscard]] std::size_t count(IsaChange change) const;
  /// `regression` where a budgeted number of a kernel in both reports got worse, even within its limit.
  [[nodiscard]] CompareExit exit() const;
};

/// Matches kernels by target and name, and numbers by place. A number is budgeted where either report limits it; one
/// that a kernel lacks, as all of a loop that it has not, counts as 0.
[[nodiscard]] IsaComparison compare_isa(const IsaReport& base, const IsaReport& next, std::string base_name = "BASE",
                                        std::string next_name = "NEW");

/// For a terminal; the verdict is the last line.
[[nodiscard]] std::string isa_comparison_text(const IsaComparison& comparison, const TextStyle& style = {});
/// For a pull request: the verdict first, then a table of changed kernels.
[[nodiscard]] std::string isa_comparison_markdown(const IsaComparison& comparison);
/// Document of schema mla-isa-comparison: every difference.
[[nodiscard]] Json isa_comparison_json(const IsaComparison& comparison);

}  // namespace mla::reports
