// Exact widening of stored elements to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mla/dtype.hpp"

namespace mla::reference {

/// Writes the values of `target.size()` contiguous elements of `type` that start at element `offset` of `data`. Exact
/// for every type; a NaN stays a NaN.
void widen(const void* data, DataType type, std::int64_t offset, std::span<double> target);

}  // namespace mla::reference
