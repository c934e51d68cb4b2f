// Bytes and operations of a problem: the denominators of every throughput.
#pragma once

#include <cstdint>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

/// Ideal traffic and work of one launch: every visible KV token, q, out and lse once; each visible (query row, head,
/// token) costs a product over 576 for QK and over 512 for PV, 2 operations each.
struct Cost {
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
  bool fp8_products = false;  // both operands of QK are fp8: a target that multiplies fp8 may use that rate
};

[[nodiscard]] Cost cost_of(const DecodeProblem& problem, const DecodeLayout& layout);

}  // namespace mla::harness
