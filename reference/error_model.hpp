// How far from the oracle an implementation may be that keeps the precision it declares: the first-order rounding error
// analysis of flash decoding. Three tiers: H, a bound on every output element; S, the spread that independent roundings
// have; L, a bound on every row's log-sum-exp.
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
//    2^-10 / 448 for e4m3fn and 2^-11 / 240 for e4m3fnuz. A kernel that keeps P in a type of another range declares the
//    step itself. Per token, so: step * max p * V.
// 4. float32 arithmetic: n additions in the row sum and the product P V, and a fixed number of operations for the
//    exponential, the normalisation and the rescaling: (n + 8) u(f32) A. Merging k <= n splits is within it.
// 5. Partial outputs of splits kept in a type: u(partial) sum_splits w |O_split| <= u(partial) A.
// 6. Output rounding: u(out) (|O| + all of the above), and half a subnormal step or a flush to zero.
//
// Tier S. The bounds above add up errors as if all went the same way; roundings that do not know of each other partly
// cancel, and leave a standard error far below the bound: B = sqrt(sum p^2 v^2) takes the place of A, and A / B is near
// 0.8 sqrt(n) for equal p. With c the root mean square of a relative rounding error in units of u, the standard error
// is
//   T^2 = r^2 (B^2 + O^2) + (ds B)^2 + (floor V / 3)^2 / n + (c u(out) O)^2,
//   r^2 = c^2 (u(P)^2 + u(partial)^2) + (n + 16) u(f32)^2.
// B^2 + O^2 rather than B^2: where few tokens carry the mass, or all p are alike, all dimensions err together, by up to
// u(P) |O|. The float32 sums add n roundings of partial sums that grow to O or to B.
// Gain. Summed over a row's dimensions, sum_d err_d O_d has two parts. Roundings that differ from dimension to
// dimension (of the output, of partial outputs, and what tokens add at random) leave sum_d (T O)^2. But a token's
// rounding of P acts on all its dimensions alike, p_k delta_k (v_k . O): where v_k has a part along O, as where few
// tokens carry the mass, v_k . O is near O . O, and the tokens together leave (r^2 + ds^2) sum p^2 (O . O)^2. The sum
// over rows of both is the variance of sum got O over a case, so that its regression slope, 1 but for rounding, has the
// standard error
//   sigma = sqrt(sum_rows [ sum_d (T O)^2 + (r^2 + ds^2) sum p^2 (O . O)^2 ]) / sum O^2.
// Rounding to nearest has no bias worth a slope: a slope that is off by more than chance is a gain. But where one token
// has all the mass, the outputs of all heads are its values, and those of fp8 KV have eight mantissas, whose roundings
// are eight and not thousands: such rows (sum p^2 > 1/2) are left out.
// c: over mantissas m with density 1 / (m ln 2) the square is (1/3) E[m^-2] = 0.180, so 0.425; 0.45 leaves room for
// other densities. reference/README.md has the fit: what the real kernels show, and the figures behind the limits
// below.
//
// Not modelled: a kernel that rounds dequantised keys to bf16 (its scores err by a further u(bf16) |s|), or whose row
// maximum is not the largest score it has seen so far.
#pragma once

#include <cmath>
#include <cstdint>

#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::reference {

inline constexpr double kFloat32Roundoff = unit_roundoff(DataType::f32);

/// Absolute error a token of P relative to its maximum of 1: item 3.
[[nodiscard]] double probability_floor(const Precision& precision);

/// The part of tier L that float32 arithmetic explains: of a row of `visible` tokens with log-sum-exp `lse`, whose
/// logits err by `score` at most.
[[nodiscard]] double float32_lse_bound(double lse, double score, double visible);

/// Largest error of one logit of the row: item 1, ds.
[[nodiscard]] double score_bound(const DecodeOracle& oracle, std::int64_t row);

/// Limits of tier S. A row's 512 values have a root mean square of z = (out - O) / T near 1 at most; one value of 7 is
/// never seen in 10^9; and the regression of out on O over a case has the slope 1, within slope() or kSlopeSigmas
/// standard errors, whichever is more.
struct StatisticalLimits {
  static constexpr double kRounding = 0.45;  // c
  static constexpr double kRowRms = 1.7;
  static constexpr double kElement = 7;
  static constexpr double kSlopeSigmas = 5;
  static constexpr std::int64_t kSlopeRows = 32;  // fewer rows tell a gain from chance too badly

  /// Cutting P or the output to bf16 in place of rounding takes 0.28 % off: half of that. fp8 P has a gain of its own.
  [[nodiscard]] static constexpr double slope(DataType probabilities) { return is_fp8(probabilities) ? 0.004 : 0.0015; }
};

/// The bounds of one row, whose parts that do not depend on the dimension are computed once.
class RowModel {
 public:
  RowModel(const DecodeOracle& oracle, std::int64_t row, const Precision& precision, DataType out_type);

  /// Tier H of element `dim`: see `hard_bound`.
  [[nodiscard]] double hard_bound(int dim) const {
    if (empty_) return 0;
    return per_abs_sum_ * abs_sum(dim) + per_out_ * out(dim) + per_value_ * value_abs_sum(dim) + constant_;
  }
  /// T^2 of element `dim`: see the head of this file. 0 for a row that sees no token.
  [[nodiscard]] double variance(int dim) const {
    if (empty_) return 0;
    const double o = out(dim);
    const double floor = per_value_error_ * value_abs_sum(dim);
    return per_square_sum_ * static_cast<double>(square_sum_[dim]) + per_out_square_ * o * o + floor * floor +
           constant_ * constant_;
  }
  [[nodiscard]] double standard_error(int dim) const { return std::sqrt(variance(dim)); }
  /// Of sum_d err_d O_d relative to O . O, the variance that tokens leave whose roundings act on all dimensions alike.
  [[nodiscard]] double gain_variance() const { return gain_variance_; }
  /// Whether several tokens weigh, so that the output's roundings are many: sum p^2 <= 1/2.
  [[nodiscard]] bool mixes() const { return mixes_; }

 private:
  [[nodiscard]] double out(int dim) const { return std::abs(out_[dim]); }
  [[nodiscard]] double abs_sum(int dim) const { return static_cast<double>(abs_sum_[dim]); }
  [[nodiscard]] double value_abs_sum(int dim) const { return static_cast<double>(value_abs_sum_[dim]); }

  const double* out_;           // [512] of the row
  const float* abs_sum_;        // [512] of the row
  const float* square_sum_;     // [512] of the row
  const float* value_abs_sum_;  // [512] of the row's token
  bool empty_;
  double per_abs_sum_ = 0;
  double per_out_ = 0;
  double per_value_ = 0;
  double constant_ = 0;
  double per_square_sum_ = 0;
  double per_out_square_ = 0;
  double per_value_error_ = 0;
  double gain_variance_ = 0;
  bool mixes_ = false;
};

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

/// Tier S of the LSE: where the row sum adds rounded P, independent roundings leave c u(P) sqrt(sum p^2) in place of
/// u(P), and 7 times that is the limit; else the same as `lse_bound`.
[[nodiscard]] double lse_spread_bound(const DecodeOracle& oracle, std::int64_t row, const Precision& precision);

}  // namespace mla::reference
