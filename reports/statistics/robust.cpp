#include "reports/statistics/robust.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reports/statistics/median.hpp"

namespace mla::reports::statistics {

std::vector<double> winsorised(std::span<const double> sample) {
  std::vector<double> result(sample.begin(), sample.end());
  if (result.size() < 3) return result;
  const double centre = median(result);
  std::vector<double> deviations;
  for (const double value : result) deviations.push_back(std::abs(value - centre));
  const double limit = 3 * 1.4826 * median(deviations);
  // With no spread to measure a hiccup by, every other value would be pulled onto the centre.
  if (limit == 0) return result;
  for (double& value : result) value = std::clamp(value, centre - limit, centre + limit);
  return result;
}

double hodges_lehmann(std::span<const double> sample) {
  std::vector<double> means;
  means.reserve(sample.size() * (sample.size() + 1) / 2);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    for (std::size_t j = i; j < sample.size(); ++j) means.push_back(std::midpoint(sample[i], sample[j]));
  }
  return median(std::move(means));
}

double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) differences.push_back(x - y);
  }
  return median(std::move(differences));
}

}  // namespace mla::reports::statistics
