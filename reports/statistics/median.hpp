// Medians and their distribution-free confidence intervals.
#pragma once

#include <cstddef>
#include <vector>

namespace mla::reports::statistics {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Median of a non-empty sample; the mean of the middle two where the count is even.
[[nodiscard]] double median(std::vector<double> sample);

/// The k of the order statistics k and n+1-k (from 1) between which the median lies with at least 95 % probability,
/// whatever the distribution: the largest k with 2 P(Binomial(n, 1/2) < k) <= 0.05. For n < 6 no such k exists and the
/// result is 1, the whole range: 93.75 % at n = 5.
[[nodiscard]] std::size_t median_rank(std::size_t n);

/// A median and the interval of its order statistics.
struct MedianEstimate {
  double value = 0;
  Interval ci95;
};
[[nodiscard]] MedianEstimate estimate_median(std::vector<double> sample);

/// Interval of a difference a - b from those of a and b, which need not be symmetric: their one-sided widths are
/// combined in quadrature (Zou & Donner 2008, "method of variance estimates recovery").
[[nodiscard]] Interval difference_interval(const MedianEstimate& a, const MedianEstimate& b);

}  // namespace mla::reports::statistics
