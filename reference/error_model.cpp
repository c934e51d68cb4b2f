#include "reference/error_model.hpp"

#include <cmath>

namespace mla::reference {
namespace {

constexpr double kFloat32Roundoff = unit_roundoff(DataType::f32);

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

/// Absolute error per token of P relative to its maximum of 1: item 3.
constexpr double probability_floor(DataType type) {
  switch (type) {
    case DataType::e4m3fn: return subnormal_error(type) / 448;
    case DataType::e4m3fnuz: return subnormal_error(type) / 240;
    case DataType::f32:
    case DataType::bf16: return subnormal_error(type);
  }
  return 0;
}

/// What the oracle says of one row, widened to double.
struct Row {
  double visible;
  double probability_max;

  Row(const DecodeOracle& oracle, std::int64_t row)
      : visible(static_cast<double>(oracle.visible[static_cast<std::size_t>(row)])),
        probability_max(static_cast<double>(oracle.probability_max[static_cast<std::size_t>(row)])) {}
};

/// sum |v| over the tokens visible to the row; kept once a query row, not once a head.
double value_abs_sum(const DecodeOracle& oracle, std::int64_t row, int dim) {
  const auto tokens = static_cast<std::int64_t>(oracle.value_abs_sum.size()) / kValueDim;
  const std::int64_t heads = oracle.rows / tokens;
  return static_cast<double>(oracle.value_abs_sum[static_cast<std::size_t>(row / heads * kValueDim + dim)]);
}

}  // namespace

double score_bound(const DecodeOracle& oracle, std::int64_t row) {
  constexpr double four_sqrt_d = 96;
  static_assert(four_sqrt_d * four_sqrt_d == 16.0 * kHeadDim);
  return four_sqrt_d * kFloat32Roundoff * static_cast<double>(oracle.logit_magnitude[static_cast<std::size_t>(row)]);
}

double hard_bound(const DecodeOracle& oracle, std::int64_t row, int dim, const Precision& precision,
                  DataType out_type) {
  const Row r(oracle, row);
  if (r.visible == 0) return 0;
  const auto element = static_cast<std::size_t>(row * kValueDim + dim);
  const double out = std::abs(oracle.out[element]);
  const double abs_sum = static_cast<double>(oracle.abs_sum[element]);

  const double scores = std::expm1(2 * score_bound(oracle, row)) * abs_sum;
  const double u_p = unit_roundoff(precision.probabilities);
  // A row sum of rounded P adds errors of its own, which the output carries in proportion to itself.
  const double in_sum = precision.row_sum_of_rounded ? out : 0;
  const double rounded_p = u_p * (abs_sum + in_sum) / (1 - u_p);
  const double floor = probability_floor(precision.probabilities) * r.probability_max *
                       (value_abs_sum(oracle, row, dim) + r.visible * in_sum);
  const double arithmetic = (r.visible + kFixedOperations) * kFloat32Roundoff * abs_sum;
  const double partial = unit_roundoff(precision.partial_output) * abs_sum;

  const double before_output = scores + rounded_p + floor + arithmetic + partial;
  return before_output + unit_roundoff(out_type) * (out + before_output) + subnormal_error(out_type);
}

double lse_bound(const DecodeOracle& oracle, std::int64_t row, const Precision& precision) {
  const Row r(oracle, row);
  if (r.visible == 0) return 0;
  constexpr double logarithm = 2e-6;  // a float32 exponential and logarithm of few units in the last place
  const double lse = std::abs(oracle.lse[static_cast<std::size_t>(row)]);
  const double float32_sum =
      4 * kFloat32Roundoff * lse + score_bound(oracle, row) + std::sqrt(r.visible) * kFloat32Roundoff + logarithm;
  if (!precision.row_sum_of_rounded) return float32_sum;
  const double u_p = unit_roundoff(precision.probabilities);
  return float32_sum + u_p / (1 - u_p) + probability_floor(precision.probabilities) * r.visible * r.probability_max;
}

}  // namespace mla::reference
