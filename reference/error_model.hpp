// How far from the oracle an implementation may be that keeps the precision it declares: the first-order rounding error
// analysis of flash decoding. Two tiers: a bound on every output element, and a bound on every row's log-sum-exp.
//
// Notation, for one row and dimension d: u(type) is the unit roundoff; P the probabilities before normalisation, i.e.
// e^(s - max); n the visible tokens; O, A = sum p|v|, and V = sum |v| as in `DecodeOracle`; D = 576.
//
// 1. Scores. Products of bf16 and fp8 elements are exact in float32; adding D of them and scaling the sum errs by at
//    most ds = 4 sqrt(D) u(f32) max_k sum_i |q_i k_i| |scale|. (The strict bound has D in place of 4 sqrt(D), which is
//    reached only if all roundings agree; 4 sqrt(D) is more than ten standard deviations of independent ones.)
//    A shift of all scores by up to ds changes each p by a factor within e^(+-2 ds): (e^(2 ds) - 1) A in the output and
//    ds in the LSE.
// 2. P rounded to a type: u(P) A. Where the row sum adds rounded P as well, the same factors weigh v - O instead of v:
//    at most u(P) (A + |O|) / (1 - u(P)). (Public kernels do either: FlashAttention sums before rounding.)
// 3. Floor: below P's smallest normal the error is absolute instead of relative. float32 and bf16 values may be flushed
//    to zero: 2^-126. e4m3 is taken to be scaled so that P = 1 is the largest finite value: half a subnormal step is
//    2^-10 / 448 for e4m3fn and 2^-11 / 240 for e4m3fnuz. Per token, so: step * max p * V.
// 4. float32 arithmetic: n additions in the row sum and the product P V, and a fixed number of operations for the
//    exponential, the normalisation and the rescaling: (n + 8) u(f32) A. Merging k <= n splits is within it.
// 5. Partial outputs of splits kept in a type: u(partial) sum_splits w |O_split| <= u(partial) A.
// 6. Output rounding: u(out) (|O| + all of the above), and half a subnormal step or a flush to zero.
//
// Not modelled: a kernel that rounds dequantised keys to bf16 (its scores err by a further u(bf16) |s|), or whose row
// maximum is not the largest score it has seen so far.
#pragma once

#include <cstdint>

#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::reference {

/// Largest error of one logit of the row: item 1, ds.
[[nodiscard]] double score_bound(const DecodeOracle& oracle, std::int64_t row);

/// Tier H: the largest |out - O| of element `dim` of `row` that `precision` and an output of type `out_type` explain.
/// 0 for a row that sees no token, whose output is exactly 0. Meaningful only where the oracle's O is finite.
[[nodiscard]] double hard_bound(const DecodeOracle& oracle, std::int64_t row, int dim, const Precision& precision,
                                DataType out_type);

/// Tier L: the largest |lse - LSE| of `row` that `precision` explains, for a float32 lse:
///   4 u(f32) |LSE| + ds + sqrt(n) u(f32) + 2e-6,
/// and, where the row sum adds rounded P, also u(P) / (1 - u(P)) + floor * n * max p. The sum of independent roundings
/// would be near 0.45 u(P) sqrt(sum p^2), but those of a near-uniform softmax all go the same way, up to u(P).
/// 0 for a row that sees no token, whose lse is exactly -inf.
[[nodiscard]] double lse_bound(const DecodeOracle& oracle, std::int64_t row, const Precision& precision);

}  // namespace mla::reference
