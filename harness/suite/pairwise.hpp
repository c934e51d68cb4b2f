// Covering arrays of strength two: every pair of values of every two axes in few rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mla::harness {

/// A row holds the chosen value's index for each axis.
using AxisRow = std::vector<std::size_t>;

/// Rows over axes of the given sizes such that every pair of values that any allowed row can hold appears in one.
/// Greedy and deterministic: the same sizes and the same `allowed` give the same rows on every machine. Where finding
/// out whether a pair is possible would take more than 4096 completions the pair is given up.
[[nodiscard]] std::vector<AxisRow> all_pairs(const std::vector<std::size_t>& sizes,
                                             const std::function<bool(const AxisRow&)>& allowed);

/// Rows of the full product, last axis fastest.
[[nodiscard]] std::vector<AxisRow> full_product(const std::vector<std::size_t>& sizes,
                                                const std::function<bool(const AxisRow&)>& allowed);

}  // namespace mla::harness
