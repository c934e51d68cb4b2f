// A split-KV flash decoding kernel in float32 with emulated rounding, written to be broken: every fault of fault.hpp is
// one branch in it. Blocks of 64 keys with a running maximum, splits with partial outputs, a merge by log-sum-exp,
// pages: the places where real kernels fail.
#pragma once

#include "mla/decode.hpp"
#include "suites/mutation/fault.hpp"

namespace mla::mutation {

inline constexpr int kBlockTokens = 64;
inline constexpr int kDefaultSplits = 4;

/// What the kernel declares for these element types: P as fine as q, the row sum of float32 P.
[[nodiscard]] Precision emulated_precision(DataType q);

/// Writes `outputs` from `inputs`, with at most `splits` splits a request. Faults that concern several launches (race,
/// cached answer) or memory beyond the tensors are the provider's business.
void run_emulated_kernel(const DecodeInputs& inputs, const DecodeOutputs& outputs, int splits, const Fault& fault);

}  // namespace mla::mutation
