// Many tests at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mla::reports::statistics {

/// How the tests' errors hang together.
enum class Dependence : std::uint8_t {
  positive,   // not at all, or so that one error makes others likelier: Benjamini & Hochberg 1995
  arbitrary,  // Benjamini & Yekutieli 2001: q is divided by 1 + 1/2 + ... + 1/m
};

/// Step-up: which hypotheses are rejected so that the expected share of false ones among them is at most `q`. With
/// sorted p-values, k is the largest rank with p_(k) <= q k / m, and the first k are rejected, ties with p_(k)
/// included; none where no rank qualifies.
[[nodiscard]] std::vector<bool> step_up(std::span<const double> p_values, double q,
                                        Dependence dependence = Dependence::positive);

}  // namespace mla::reports::statistics
