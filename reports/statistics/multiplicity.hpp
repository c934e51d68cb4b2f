// Many tests at once.
#pragma once

#include <span>
#include <vector>

namespace mla::reports::statistics {

/// Benjamini-Hochberg step-up: which hypotheses are rejected so that the expected share of false ones among them is at
/// most `q`. With sorted p-values, k is the largest rank with p_(k) <= q k / m, and the first k are rejected, ties with
/// p_(k) included; none where no rank qualifies.
[[nodiscard]] std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double q);

}  // namespace mla::reports::statistics
