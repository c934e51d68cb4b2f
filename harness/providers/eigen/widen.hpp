// Exact widening of bf16 and fp8 rows to float32.
#pragma once

#include "mla/dtype.hpp"

namespace mla::harness::eigen {

/// Writes `count` elements of type `dtype` (bf16, e4m3fn, e4m3fnuz) from `source` to `target` as float32, unscaled.
/// NaN encodings give NaN. Only [source, source + count) is read.
void widen(const void* source, DataType dtype, int count, float* target);

}  // namespace mla::harness::eigen
