#include "reports/statistics/multiplicity.hpp"

#include <algorithm>

namespace mla::reports::statistics {

std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double q) {
  std::vector<double> sorted(p_values.begin(), p_values.end());
  std::sort(sorted.begin(), sorted.end());
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
