#include "reports/isa_compare.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace mla::reports {
namespace {

const IsaKernel* find(const IsaReport& report, const IsaKernel& like) {
  const auto found = std::find_if(report.kernels.begin(), report.kernels.end(), [&](const IsaKernel& kernel) {
    return kernel.target == like.target && kernel.name == like.name;
  });
  return found == report.kernels.end() ? nullptr : &*found;
}

std::int64_t number_of(const IsaKernel& kernel, const std::string& quantity) {
  const auto found = kernel.numbers.find(quantity);
  return found == kernel.numbers.end() ? 0 : found->second;
}

IsaDifference difference_of(const IsaKernel& base, const IsaKernel& next, const std::string& quantity) {
  IsaDifference difference{quantity, number_of(base, quantity), number_of(next, quantity), IsaChange::changed, {}};
  const auto judge = [&](const auto& base_limits, const auto& next_limits, bool worse) {
    const auto limit = next_limits.find(quantity);
    if (limit != next_limits.end()) difference.limit = limit->second;
    if (limit == next_limits.end() && !base_limits.contains(quantity)) return;
    // Limited on both sides: worse for one of them is worse.
    if (difference.change != IsaChange::worse) difference.change = worse ? IsaChange::worse : IsaChange::better;
  };
  judge(base.min, next.min, difference.next < difference.base);
  judge(base.max, next.max, difference.next > difference.base);
  return difference;
}

std::vector<IsaDifference> differences_of(const IsaKernel& base, const IsaKernel& next) {
  std::set<std::string> quantities;
  for (const IsaKernel* kernel : {&base, &next}) {
    for (const auto& [quantity, value] : kernel->numbers) quantities.insert(quantity);
  }
  std::vector<IsaDifference> differences;
  for (const std::string& quantity : quantities) {
    IsaDifference difference = difference_of(base, next, quantity);
    if (difference.base != difference.next) differences.push_back(std::move(difference));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const IsaDifference& a, const IsaDifference& b) { return a.change > b.change; });
  return differences;
}

}  // namespace

std::string_view name_of(IsaChange change) {
  switch (change) {
    case IsaChange::changed: return "changed";
    case IsaChange::better: return "better";
    case IsaChange::worse: return "worse";
  }
  return "?";
}

std::string_view name_of(IsaPresence presence) {
  switch (presence) {
    case IsaPresence::both: return "both";
    case IsaPresence::added: return "added";
    case IsaPresence::removed: return "removed";
  }
  return "?";
}

std::size_t IsaComparison::count(IsaChange change) const {
  std::size_t count = 0;
  for (const IsaKernelComparison& kernel : changed) {
    count += static_cast<std::size_t>(std::count_if(kernel.differences.begin(), kernel.differences.end(),
                                                    [&](const IsaDifference& d) { return d.change == change; }));
  }
  return count;
}

CompareExit IsaComparison::exit() const {
  return count(IsaChange::worse) > 0 ? CompareExit::regression : CompareExit::ok;
}

IsaComparison compare_isa(const IsaReport& base, const IsaReport& next, std::string base_name, std::string next_name) {
  IsaComparison comparison{std::move(base_name), std::move(next_name), base.compiler, next.compiler, 0, {}};
  for (const IsaKernel& kernel : next.kernels) {
    const IsaKernel* before = find(base, kernel);
    if (before == nullptr) {
      comparison.changed.push_back({kernel.target, kernel.name, IsaPresence::added, {}});
      continue;
    }
    ++comparison.kernels;
    auto differences = differences_of(*before, kernel);
    if (differences.empty()) continue;
    comparison.changed.push_back({kernel.target, kernel.name, IsaPresence::both, std::move(differences)});
  }
  for (const IsaKernel& kernel : base.kernels) {
    if (find(next, kernel) == nullptr) {
      comparison.changed.push_back({kernel.target, kernel.name, IsaPresence::removed, {}});
    }
  }
  return comparison;
}

}  // namespace mla::reports
