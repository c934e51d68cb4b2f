// What a row of a probe must hold, in closed form. Detail of check_probes.
#pragma once

#include <array>
#include <cstdint>

#include "harness/inputs/probe_pattern.hpp"
#include "mla/decode.hpp"

namespace mla::harness::checks {

/// The exact answer of one row, and how far an implementation may be from it: what P, a power of two, does not add.
struct ProbeAnswer {
  std::array<double, kValueDim> out{};
  std::array<double, kValueDim> bound{};
  double lse = 0;
  double lse_bound = 0;
  double mean_logit = 0;  // under p: derivative of the LSE by the logarithm of the softmax scale
};

/// Of a row that sees the first `visible` of a request's `kv_len` tokens; visible > 0. In the bound, with the notation
/// of reference/error_model.hpp: the logits' ds and the float32 LSE (whose differences weigh the parts of a split
/// request) shift each p by at most 2 (ds + e) + deviation; partial outputs and the output are rounded; and fp8 P below
/// its smallest normal has the floor.
[[nodiscard]] ProbeAnswer probe_answer(const ProbePattern& pattern, const ProbeRow& row, std::int64_t visible,
                                       std::int64_t kv_len, double kv_scale, const Precision& precision);

}  // namespace mla::harness::checks
