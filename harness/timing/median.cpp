#include "harness/timing/median.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/error.hpp"

namespace mla::harness {

MedianInterval median_with_ci(std::span<const double> sample) {
  if (sample.empty()) throw UsageError("sample", "", "a median needs at least one value");
  std::vector<double> sorted(sample.begin(), sample.end());
  std::ranges::sort(sorted);

  const auto n = static_cast<double>(sorted.size());
  const auto at_rank = [&](double rank) {  // ranks count from 1
    return sorted[static_cast<std::size_t>(std::clamp(rank, 1.0, n)) - 1];
  };
  const double reach = 0.98 * std::sqrt(n);  // 1.96 standard deviations of the number of values below the median
  return {.median = (at_rank(std::floor((n + 1) / 2)) + at_rank(std::ceil((n + 1) / 2))) / 2,
          .low = at_rank(std::round(n / 2 - reach)),
          .high = at_rank(std::round(n / 2 + reach + 1))};
}

}  // namespace mla::harness
