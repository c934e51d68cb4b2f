// What a row of a uniform probe spells. Detail of check_probes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mla/shape.hpp"

namespace mla::harness::checks {

/// `values`: the row over kv_scale; `lse` of the row, the logarithm of how many tokens it weighed; `visible` > 0 tokens
/// should have been. "token 1234 is missing", "token 7 is weighed twice", "64 tokens are missing, those with k mod 480
/// in 128..191", or an empty text.
[[nodiscard]] std::string read_uniform_row(std::span<const double, kValueDim> values, double lse, std::int64_t visible);

}  // namespace mla::harness::checks
