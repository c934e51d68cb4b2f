#include "reports/statistics/multiplicity.hpp"

#include <algorithm>

namespace mla::reports::statistics {
namespace {

/// 1 + 1/2 + ... + 1/m
double harmonic(std::size_t m) {
  double sum = 0;
  for (std::size_t i = m; i > 0; --i) sum += 1 / static_cast<double>(i);
  return sum;
}

}  // namespace

std::vector<bool> step_up(std::span<const double> p_values, double q, Dependence dependence) {
  std::vector<double> sorted(p_values.begin(), p_values.end());
  std::sort(sorted.begin(), sorted.end());
  if (dependence == Dependence::arbitrary) q /= harmonic(sorted.size());
  const auto m = static_cast<double>(sorted.size());
  // No p-value is below 0, so that this rejects nothing until a rank qualifies.
  double threshold = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] <= q * static_cast<double>(i + 1) / m) threshold = sorted[i];
  }
  std::vector<bool> rejected;
  for (const double p : p_values) rejected.push_back(p <= threshold);
  return rejected;
}

}  // namespace mla::reports::statistics
