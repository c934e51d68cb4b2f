// From the element type as a value to the element type as a type.
#pragma once

#include "mla/dtype.hpp"

namespace mla::harness {

/// Calls `visit.operator()<Element>()` with the type of the operand's elements; float32 is the type of no operand.
template <class Visitor>
void visit_element(DataType type, const Visitor& visit) {
  switch (type) {
    case DataType::bf16: return visit.template operator()<Bfloat16>();
    case DataType::e4m3fn: return visit.template operator()<Float8E4M3FN>();
    case DataType::e4m3fnuz: return visit.template operator()<Float8E4M3FNUZ>();
    case DataType::f32: return;
  }
}

}  // namespace mla::harness
