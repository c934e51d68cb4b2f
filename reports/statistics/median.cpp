#include "reports/statistics/median.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mla::reports::statistics {

double median(std::vector<double> sample) {
  const std::size_t half = sample.size() / 2;
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(sample.begin(), middle, sample.end());
  if (sample.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(sample.begin(), middle), *middle);
}

std::size_t median_rank(std::size_t n) {
  // Beyond this the normal approximation is exact to the rank, and 2^-n would underflow before long.
  if (n > 500) {
    const auto size = static_cast<double>(n);
    return static_cast<std::size_t>(std::floor(0.5 * size - 0.98 * std::sqrt(size)));
  }
  double probability = std::ldexp(1.0, -static_cast<int>(n));  // of exactly i of n below the median
  double cumulative = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    cumulative += probability;
    if (2 * cumulative > 0.05) break;
    k = i + 1;
    probability *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return std::max<std::size_t>(k, 1);
}

MedianEstimate estimate_median(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const std::size_t n = sample.size();
  const std::size_t rank = median_rank(n);
  const double value = std::midpoint(sample[(n - 1) / 2], sample[n / 2]);
  return {value, {sample[rank - 1], sample[n - rank]}};
}

Interval difference_interval(const MedianEstimate& a, const MedianEstimate& b) {
  const double difference = a.value - b.value;
  return {difference - std::hypot(a.value - a.ci95.low, b.ci95.high - b.value),
          difference + std::hypot(a.ci95.high - a.value, b.value - b.ci95.low)};
}

}  // namespace mla::reports::statistics
