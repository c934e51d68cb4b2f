// The median of a sample and how well it is known.
#pragma once

#include <span>

namespace mla::harness {

/// Median with its 95 % confidence interval from order statistics, which assumes nothing about the distribution.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;

  /// Half the interval's width relative to the median; 0 for a median of 0.
  [[nodiscard]] double relative_half_width() const { return median == 0 ? 0 : (high - low) / 2 / median; }
};

/// The interval lies between the ranks n/2 - 0.98 sqrt(n) and n/2 + 0.98 sqrt(n) + 1 of the sorted sample, rounded and
/// kept inside it: below six values it is the whole range and covers less than 95 %. Throws UsageError on an empty
/// sample.
[[nodiscard]] MedianInterval median_with_ci(std::span<const double> sample);

}  // namespace mla::harness
