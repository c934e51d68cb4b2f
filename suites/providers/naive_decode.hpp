// Decode attention as its definition reads: the tests' own answer, a double loop in double precision.
#pragma once

#include <cmath>
#include <vector>

#include "mla/decode.hpp"

namespace mla::test {

struct NaiveResult {
  std::vector<double> out;      // [T, H, 512]
  std::vector<double> lse;      // [T, H]
  std::vector<double> abs_sum;  // [T, H, 512] sum_k p_k |v_k|: the scale of rounding errors
};

[[nodiscard]] NaiveResult naive_decode(const DecodeInputs& inputs);

}  // namespace mla::test
