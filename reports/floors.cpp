#include "reports/floors.hpp"

#include <cmath>

#include <fmt/format.h>

#include "reports/error.hpp"

namespace mla::reports {
namespace {

void check_same_build(const Comparison& comparison) {
  const Run& a = comparison.base;
  const Run& b = comparison.next;
  const auto refuse = [](std::string_view what, std::string_view first, std::string_view second) {
    throw ReportError(fmt::format("floors come from two runs of one build: {} is {} and {}", what, first, second));
  };
  if (a.id == b.id) throw ReportError(fmt::format("floors come from two runs of one build: both are run {}", a.id));
  if (a.git_sha != b.git_sha) refuse("the commit", a.git_sha, b.git_sha);
  if (a.version != b.version) refuse("the version", a.version, b.version);
  if (a.build_flags != b.build_flags) refuse("the compiler's flags", a.build_flags, b.build_flags);
  if (comparison.base_fingerprint != comparison.next_fingerprint) {
    refuse("the fingerprint", comparison.base_fingerprint, comparison.next_fingerprint);
  }
}

/// Six decimals, a ten-thousandth of a percent.
double rounded(double value) {
  return std::round(value * 1e6) / 1e6;
}

}  // namespace

std::size_t add_floors(const Comparison& comparison, Margins& margins) {
  check_same_build(comparison);
  Floors& floors = margins.floors;
  if (!floors.fingerprint.empty() && floors.fingerprint != comparison.next_fingerprint) {
    throw ReportError(fmt::format("floors are those of one machine: the fingerprint is {} and {}", floors.fingerprint,
                                  comparison.next_fingerprint));
  }
  std::size_t added = 0;
  for (const CaseComparison& entry : comparison.cases) {
    if (!entry.ratio || entry.speed == Speed::invalid || entry.kernel_changed) continue;
    std::vector<double>& changes = floors.changes[entry.key];
    changes.push_back(rounded(std::abs(std::log(entry.ratio->estimate))));
    if (changes.size() > kMostFloorChanges) changes.erase(changes.begin());
    ++added;
  }
  if (added == 0) throw ReportError("no case was measured in both runs: there are no floors in them");
  floors.fingerprint = comparison.next_fingerprint;
  ++floors.comparisons;
  return added;
}

}  // namespace mla::reports
