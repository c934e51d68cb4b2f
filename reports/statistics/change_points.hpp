// Where a series of measurements jumps to another level, and where it only scatters.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mla::reports::statistics {

/// A stretch of a series that scatters around one level. It ends where the next one begins, or with the series.
struct Segment {
  std::size_t first = 0;
  double level = 0;  // median of its values
};

struct ChangePointOptions {
  double smallest_step = 0.02;  // levels closer than this are one
  double noise_floor = 0.0025;  // standard deviation below which no series is believed to lie
  double sureness = 1.645;      // standard errors of a step by which it must exceed smallest_step (95 %, one-sided)
};

/// The piecewise constant function that minimises, over all numbers and places of changes at once, the sum of
/// min((value - level)^2, (4 s)^2) and a penalty of max(3 ln n, 17) s^2 a change: Fearnhead & Rigaill 2019,
/// "Changepoint detection in the presence of outliers" (JASA 114, R-FPOP), with the penalty of Zhang & Siegmund's
/// modified BIC. Then steps that are not surely above `smallest_step` are taken out, smallest first. s is the scatter
/// from one value to the next: 1.4826 MAD of the differences over sqrt(2), which slow drift and the steps themselves
/// hardly enter.
///
/// One outlier costs at most 16 s^2, less than a change: a step needs two consecutive values at least.
/// At least one segment; none for an empty series.
[[nodiscard]] std::vector<Segment> segments(std::span<const double> values, const ChangePointOptions& options = {});

}  // namespace mla::reports::statistics
