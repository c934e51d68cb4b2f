// Estimates that one hiccup among the launches cannot move far.
#pragma once

#include <span>
#include <vector>

namespace mla::reports::statistics {

/// Values beyond median +- 3 * 1.4826 * MAD are moved to that limit; 1.4826 MAD estimates the standard deviation of a
/// normal sample. Nothing moves where more than half of the values are equal (MAD = 0), or among fewer than three.
[[nodiscard]] std::vector<double> winsorised(std::span<const double> sample);

/// Hodges-Lehmann estimate of location: the median of the means of all pairs, each value paired with itself as well.
/// Both samples below must not be empty.
[[nodiscard]] double hodges_lehmann(std::span<const double> sample);

/// Hodges-Lehmann estimate of a shift: the median of all differences a_i - b_j.
[[nodiscard]] double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b);

}  // namespace mla::reports::statistics
