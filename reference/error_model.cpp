#include "reference/error_model.hpp"

#include <algorithm>
#include <cmath>

namespace mla::reference {
namespace {

// Exponential (2 units in the last place), subtraction of the maximum, normalisation, rescaling.
constexpr double kFixedOperations = 8;

/// Largest absolute error of rounding to `type` a value below its smallest normal.
constexpr double subnormal_error(DataType type) {
  switch (type) {
    case DataType::f32:
    case DataType::bf16: return 0x1p-126;
    case DataType::e4m3fn: return 0x1p-10;
    case DataType::e4m3fnuz: return 0x1p-11;
  }
  return 0;
}

const float* values_of(const DecodeOracle& oracle, std::int64_t row) {
  // Kept once a query row, not once a head.
  const auto tokens = static_cast<std::int64_t>(oracle.value_abs_sum.size()) / kValueDim;
  return oracle.value_abs_sum.data() + row / (oracle.rows / tokens) * kValueDim;
}

double visible_of(const DecodeOracle& oracle, std::int64_t row) {
  return static_cast<double>(oracle.visible[static_cast<std::size_t>(row)]);
}

double probability_max_of(const DecodeOracle& oracle, std::int64_t row) {
  return static_cast<double>(oracle.probability_max[static_cast<std::size_t>(row)]);
}

constexpr double square(double x) {
  return x * x;
}

}  // namespace

double probability_floor(const Precision& precision) {
  const DataType type = precision.probabilities;
  const double largest = type == DataType::e4m3fn ? 448 : type == DataType::e4m3fnuz ? 240 : 1;
  return std::max(subnormal_error(type) / largest, static_cast<double>(precision.probability_floor));
}

double score_bound(const DecodeOracle& oracle, std::int64_t row) {
  constexpr double four_sqrt_d = 96;
  static_assert(four_sqrt_d * four_sqrt_d == 16.0 * kHeadDim);
  return four_sqrt_d * kFloat32Roundoff * static_cast<double>(oracle.logit_magnitude[static_cast<std::size_t>(row)]);
}

RowModel::RowModel(const DecodeOracle& oracle, std::int64_t row, const Precision& precision, DataType out_type)
    : out_(oracle.out.data() + row * kValueDim),
      abs_sum_(oracle.abs_sum.data() + row * kValueDim),
      square_sum_(oracle.square_sum.data() + row * kValueDim),
      value_abs_sum_(values_of(oracle, row)),
      empty_(oracle.visible[static_cast<std::size_t>(row)] == 0) {
  if (empty_) return;
  const double visible = visible_of(oracle, row);
  const double scores = score_bound(oracle, row);
  const double u_p = unit_roundoff(precision.probabilities);
  const double u_partial = unit_roundoff(precision.partial_output);
  const double u_out = unit_roundoff(out_type);
  const double floor = probability_floor(precision) * probability_max_of(oracle, row);
  constant_ = subnormal_error(out_type);

  const double arithmetic = (visible + kFixedOperations) * kFloat32Roundoff;
  per_abs_sum_ = (std::expm1(2 * scores) + u_p / (1 - u_p) + arithmetic + u_partial) * (1 + u_out);
  // A row sum of rounded P adds errors of its own, which the output carries in proportion to itself.
  const double in_sum = precision.row_sum_of_rounded ? u_p / (1 - u_p) + floor * visible : 0;
  per_out_ = in_sum * (1 + u_out) + u_out;
  per_value_ = floor * (1 + u_out);

  constexpr double c = StatisticalLimits::kRounding;
  const double rounding = square(c * u_p) + square(c * u_partial) + (visible + 16) * square(kFloat32Roundoff);
  per_square_sum_ = rounding + square(scores);
  per_out_square_ = rounding + square(c * u_out);
  per_value_error_ = floor / (3 * std::sqrt(visible));
  const double square_sum = static_cast<double>(oracle.probability_square_sum[static_cast<std::size_t>(row)]);
  gain_variance_ = per_square_sum_ * square_sum;
  mixes_ = square_sum <= 0.5;
}

double hard_bound(const DecodeOracle& oracle, std::int64_t row, int dim, const Precision& precision,
                  DataType out_type) {
  return RowModel(oracle, row, precision, out_type).hard_bound(dim);
}

namespace {

double float32_lse_bound_of(const DecodeOracle& oracle, std::int64_t row) {
  return float32_lse_bound(oracle.lse[static_cast<std::size_t>(row)], score_bound(oracle, row),
                           visible_of(oracle, row));
}

/// Largest error of a row sum, relative to it, that P's values below its smallest normal cause.
double row_sum_floor(const DecodeOracle& oracle, std::int64_t row, const Precision& precision) {
  return probability_floor(precision) * visible_of(oracle, row) * probability_max_of(oracle, row);
}

}  // namespace

double float32_lse_bound(double lse, double score, double visible) {
  constexpr double logarithm = 2e-6;  // a float32 exponential and logarithm of few units in the last place
  return 4 * kFloat32Roundoff * std::abs(lse) + score + std::sqrt(visible) * kFloat32Roundoff + logarithm;
}

double lse_bound(const DecodeOracle& oracle, std::int64_t row, const Precision& precision) {
  if (visible_of(oracle, row) == 0) return 0;
  if (!precision.row_sum_of_rounded) return float32_lse_bound_of(oracle, row);
  const double u_p = unit_roundoff(precision.probabilities);
  return float32_lse_bound_of(oracle, row) + u_p / (1 - u_p) + row_sum_floor(oracle, row, precision);
}

double lse_spread_bound(const DecodeOracle& oracle, std::int64_t row, const Precision& precision) {
  if (visible_of(oracle, row) == 0) return 0;
  if (!precision.row_sum_of_rounded) return float32_lse_bound_of(oracle, row);
  const double square_sum = static_cast<double>(oracle.probability_square_sum[static_cast<std::size_t>(row)]);
  const double rounding = StatisticalLimits::kRounding * unit_roundoff(precision.probabilities) * std::sqrt(square_sum);
  const double floor = row_sum_floor(oracle, row, precision) / (3 * std::sqrt(visible_of(oracle, row)));
  return float32_lse_bound_of(oracle, row) + StatisticalLimits::kElement * std::hypot(rounding, floor);
}

}  // namespace mla::reference
