// The bounds against an emulated float32 kernel: a kernel that keeps the precision it declares never exceeds them, and
// one that errs does.
#include "reference/error_model.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "suites/reference/ragged_case.hpp"

namespace mla::reference::test {
namespace {

float round_to(DataType type, float value) {
  switch (type) {
    case DataType::f32: return value;
    case DataType::bf16: return Bfloat16::from_float(value).to_float();
    case DataType::e4m3fn: return Float8E4M3FN::from_float(value).to_float();
    case DataType::e4m3fnuz: return Float8E4M3FNUZ::from_float(value).to_float();
  }
  return 0;
}

/// The value that P = 1 is scaled to.
float probability_scale(DataType type) {
  if (type == DataType::e4m3fn) return 448;
  return type == DataType::e4m3fnuz ? 240.0F : 1.0F;
}

struct RowResult {
  std::vector<float> out = std::vector<float>(kValueDim, 0.0F);
  float lse = -std::numeric_limits<float>::infinity();
};

/// Split flash decoding of one row in float32, with faults on request.
struct EmulatedKernel {
  Precision precision;
  int splits = 4;
  float score_factor = 1;   // fault: wrong softmax scale
  float output_factor = 1;  // fault: wrong normalisation
  int dropped_token = -1;   // fault: one token not seen
  bool base_2_lse = false;  // fault: lse to the base 2

  [[nodiscard]] RowResult run(const RaggedCase& c, int head) const {
    const int tokens = c.visible(0, 0);
    const int per_split = (tokens + splits - 1) / splits;
    std::vector<RowResult> parts;
    for (int begin = 0; begin < tokens; begin += per_split) {
      parts.push_back(split(c, head, begin, std::min(begin + per_split, tokens)));
    }
    return merge(parts, c.spec().kv_scale);
  }

 private:
  static constexpr int kBlock = 64;

  [[nodiscard]] RowResult split(const RaggedCase& c, int head, int begin, int end) const {
    const CaseSpec& spec = c.spec();
    const float scale = spec.sm_scale * spec.q_scale * spec.kv_scale * score_factor;
    const float p_scale = probability_scale(precision.probabilities);
    RowResult part;
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int block = begin; block < end; block += kBlock) {
      std::vector<float> scores;
      float new_maximum = maximum;
      for (int k = block; k < std::min(block + kBlock, end); ++k) {
        float dot = 0;
        for (int d = 0; d < kHeadDim; ++d) dot += c.q(0, 0, head, d) * c.kv(0, k, d);
        scores.push_back(k == dropped_token ? -std::numeric_limits<float>::infinity() : scale * dot);
        new_maximum = std::max(new_maximum, scores.back());
      }
      const float rescale = maximum == new_maximum ? 1.0F : std::exp(maximum - new_maximum);
      maximum = new_maximum;
      sum *= rescale;
      for (float& value : part.out) value *= rescale;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const float p = p_scale * std::exp(scores[j] - maximum);
        const float rounded = round_to(precision.probabilities, p);
        sum += precision.row_sum_of_rounded ? rounded : p;
        for (int d = 0; d < kValueDim; ++d) {
          part.out[static_cast<std::size_t>(d)] += rounded * c.kv(0, block + static_cast<int>(j), d);
        }
      }
    }
    for (float& value : part.out) value = round_to(precision.partial_output, value / sum);
    part.lse = maximum + std::log(sum / p_scale);
    return part;
  }

  [[nodiscard]] RowResult merge(const std::vector<RowResult>& parts, float kv_scale) const {
    RowResult result;
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
    for (const RowResult& part : parts) maximum = std::max(maximum, part.lse);
    for (const RowResult& part : parts) sum += std::exp(part.lse - maximum);
    for (const RowResult& part : parts) {
      const float weight = std::exp(part.lse - maximum) / sum;
      for (std::size_t d = 0; d < kValueDim; ++d) result.out[d] += weight * part.out[d];
    }
    for (float& value : result.out) value = round_to(DataType::bf16, value * kv_scale * output_factor);
    result.lse = maximum + std::log(sum);
    if (base_2_lse) result.lse /= std::log(2.0F);
    return result;
  }
};

/// Largest error over bound of each tier over all heads; above 1 is a failure.
struct Ratios {
  double hard = 0;
  double lse = 0;
  double row_rms = 0;     // tier S: of z over a row
  double z_max = 0;       // tier S: of one element
  double lse_spread = 0;  // tier S of the LSE
};

/// Error over bound. NaN counts as infinitely wrong: std::max would drop it.
double ratio(float got, double want, double bound) {
  const double error = std::abs(static_cast<double>(got) - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error / bound;
}

Ratios ratios(const EmulatedKernel& kernel, const RaggedCase& c, const DecodeOracle& oracle) {
  Ratios worst;
  for (int head = 0; head < c.spec().heads; ++head) {
    const RowResult got = kernel.run(c, head);
    const auto row = static_cast<std::size_t>(head);
    const RowModel model(oracle, head, kernel.precision, DataType::bf16);
    double square_sum = 0;
    for (int d = 0; d < kValueDim; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const double want = oracle.out[row * kValueDim + i];
      worst.hard = std::max(worst.hard, ratio(got.out[i], want, model.hard_bound(d)));
      const double z = ratio(got.out[i], want, model.standard_error(d));
      worst.z_max = std::max(worst.z_max, z);
      square_sum += z * z;
    }
    worst.row_rms = std::max(worst.row_rms, std::sqrt(square_sum / kValueDim));
    worst.lse = std::max(worst.lse, ratio(got.lse, oracle.lse[row], lse_bound(oracle, head, kernel.precision)));
    worst.lse_spread =
        std::max(worst.lse_spread, ratio(got.lse, oracle.lse[row], lse_spread_bound(oracle, head, kernel.precision)));
  }
  return worst;
}

Ratios ratios(const EmulatedKernel& kernel, const RaggedCase& c) {
  return ratios(kernel, c, *OwnedOracle(c));
}

struct NamedData {
  const char* name;
  std::function<RaggedCase(int tokens, unsigned seed)> make;
};

RaggedCase drawn(int tokens, unsigned seed, float amplitude, float sm_scale) {
  return RaggedCase(
      {.heads = 2, .kv_lens = {tokens}, .page_size = 64, .sm_scale = sm_scale, .amplitude = amplitude, .seed = seed});
}

/// Logits -0.02 k, or any other multiple, driven by one rope dimension, all values 0 or 1.
RaggedCase ramp(int tokens, unsigned seed, float step) {
  RaggedCase c({.heads = 2, .kv_lens = {tokens}, .page_size = 64, .sm_scale = 1, .amplitude = 0, .seed = seed});
  for (int h = 0; h < 2; ++h) c.set_q(0, 0, h, kHeadDim - 1, h == 0 ? 1.0F : -1.0F);
  for (int k = 0; k < tokens; ++k) {
    c.set_kv(0, k, kHeadDim - 1, step * static_cast<float>(k));
    c.set_kv(0, k, k % kLatentDim, 1);
  }
  return c;
}

std::vector<NamedData> distributions() {
  return {
      {"randn", [](int n, unsigned seed) { return drawn(n, seed, 1, 0.1352338F); }},
      {"sharp", [](int n, unsigned seed) { return drawn(n, seed, 1, 1.0F); }},
      {"flat", [](int n, unsigned seed) { return drawn(n, seed, 0.1F, 0.1352338F); }},
      {"uniform", [](int n, unsigned seed) { return drawn(n, seed, 1, 0); }},
      {"slope", [](int n, unsigned seed) { return ramp(n, seed, 0.02F); }},
      // Most probabilities fall below the smallest normal of any type.
      {"cliff", [](int n, unsigned seed) { return ramp(n, seed, 3); }},
  };
}

std::vector<Precision> precisions() {
  std::vector<Precision> all;
  for (const DataType p : {DataType::f32, DataType::bf16, DataType::e4m3fn, DataType::e4m3fnuz}) {
    for (const bool rounded : {false, true}) {
      for (const DataType partial : {DataType::f32, DataType::bf16}) all.push_back({p, rounded, partial});
    }
  }
  return all;
}

std::string text_of(const Precision& precision) {
  return std::string(name_of(precision.probabilities)) + (precision.row_sum_of_rounded ? " rounded sum " : " ") +
         std::string(name_of(precision.partial_output));
}

/// Where tier S may judge: not fp8 P under a softmax so flat that all roundings go the same way, nor where each output
/// is one value of P below the smallest normal.
bool roundings_are_independent(const NamedData& data, const Precision& precision) {
  const std::string_view name = data.name;
  return !is_fp8(precision.probabilities) || (name != "flat" && name != "uniform" && name != "cliff");
}

TEST(ErrorModel, KernelThatKeepsItsPrecisionStaysWithinBounds) {
  for (const NamedData& data : distributions()) {
    for (const int tokens : {1, 2, 7, 64, 333, 1500}) {
      const RaggedCase c = data.make(tokens, static_cast<unsigned>(tokens));
      const OwnedOracle oracle(c);
      for (const Precision& precision : precisions()) {
        const Ratios worst = ratios({.precision = precision}, c, *oracle);
        EXPECT_LE(worst.hard, 1) << data.name << " n=" << tokens << " " << text_of(precision);
        EXPECT_LE(worst.lse, 1) << data.name << " n=" << tokens << " " << text_of(precision);
        if (!roundings_are_independent(data, precision)) continue;
        EXPECT_LE(worst.row_rms, StatisticalLimits::kRowRms)
            << data.name << " n=" << tokens << " " << text_of(precision);
        EXPECT_LE(worst.z_max, StatisticalLimits::kElement)
            << data.name << " n=" << tokens << " " << text_of(precision);
        EXPECT_LE(worst.lse_spread, 1) << data.name << " n=" << tokens << " " << text_of(precision);
      }
    }
  }
}

TEST(ErrorModel, DeclaredFloorOfPAllowsThatMuchAToken) {
  const RaggedCase c({.heads = 2, .kv_lens = {40}, .page_size = 16});
  const OwnedOracle oracle(c);
  const Precision bf16{.probabilities = DataType::bf16};
  Precision with_floor = bf16;
  with_floor.probability_floor = 0x1p-12F;
  EXPECT_EQ(probability_floor(bf16), 0x1p-126);
  EXPECT_EQ(probability_floor(with_floor), 0x1p-12);
  // Of a type with a larger step of its own, that is what counts.
  EXPECT_EQ(probability_floor({.probabilities = DataType::e4m3fn, .probability_floor = 0x1p-40F}), 0x1p-10 / 448);
  const double more =
      hard_bound(*oracle, 1, 7, with_floor, DataType::f32) - hard_bound(*oracle, 1, 7, bf16, DataType::f32);
  const double values = static_cast<double>((*oracle).value_abs_sum[7]);
  EXPECT_NEAR(more, 0x1p-12 * static_cast<double>((*oracle).probability_max[1]) * values, 1e-6 * values);
  EXPECT_GT(more, 0);
}

TEST(ErrorModel, ScaledFp8InputsStayWithinBounds) {
  const RaggedCase c({.heads = 2,
                      .kv_lens = {200},
                      .page_size = 16,
                      .q_type = DataType::e4m3fn,
                      .kv_type = DataType::e4m3fn,
                      .q_scale = 0.0225F,
                      .kv_scale = 0.031F,
                      .amplitude = 40});
  for (const Precision& precision : precisions()) {
    const Ratios worst = ratios({.precision = precision}, c);
    EXPECT_LE(worst.hard, 1) << text_of(precision);
    EXPECT_LE(worst.lse, 1) << text_of(precision);
  }
}

// A bound that nothing comes near would hide faults.
TEST(ErrorModel, HardBoundIsReached) {
  // 1 + 2^-8 lies halfway between two bf16 values, just above a power of two, where the relative error is largest.
  RaggedCase one({.heads = 2, .kv_lens = {1}, .kv_scale = 1 + 0x1p-8F, .sm_scale = 0});
  one.set_kv(0, 0, 0, 1);
  EXPECT_GT(ratios({}, one).hard, 0.95) << "one token: only the output is rounded";
  // e^-0.5 * 448 = 271.7 lies just below the midpoint of 256 and 288, where the relative error is largest.
  const Ratios two = ratios({.precision = {DataType::e4m3fn, false, DataType::f32}, .splits = 1}, ramp(2, 3, 0.5F));
  EXPECT_GT(two.hard, 0.8) << "two tokens: one probability is rounded";
}

TEST(ErrorModel, LowerPrecisionThanDeclaredIsCaught) {
  const RaggedCase c = ramp(64, 1, 0.01F);
  const OwnedOracle oracle(c);
  const RowResult got = EmulatedKernel{.precision = {DataType::e4m3fn, false, DataType::f32}}.run(c, 0);
  int caught = 0;
  for (int d = 0; d < 64; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const double error = std::abs(static_cast<double>(got.out[i]) - oracle->out[i]);
    if (error > hard_bound(*oracle, 0, d, {DataType::bf16, false, DataType::f32}, DataType::bf16)) ++caught;
  }
  EXPECT_GT(caught, 0);
}

// A row's gain, the regression of got on O, in the standard errors that the model gives it.
TEST(ErrorModel, GainsAreSpreadAsTheirStandardErrorSays) {
  const RaggedCase c({.heads = 48, .kv_lens = {64}, .sm_scale = 0.06F});
  const OwnedOracle oracle(c);
  const Precision bf16{DataType::bf16, false, DataType::f32};
  double square_sum = 0;
  int rows = 0;
  for (int head = 0; head < c.spec().heads; ++head) {
    const RowModel model(*oracle, head, bf16, DataType::bf16);
    if (!model.mixes()) continue;
    const RowResult got = EmulatedKernel{.precision = bf16}.run(c, head);
    double error = 0, ref_square = 0, variance = 0;
    for (int d = 0; d < kValueDim; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const double ref = oracle->out[static_cast<std::size_t>(head) * kValueDim + i];
      error += (static_cast<double>(got.out[i]) - ref) * ref;
      ref_square += ref * ref;
      variance += std::pow(model.standard_error(d) * ref, 2);
    }
    square_sum += error * error / (variance + model.gain_variance() * ref_square * ref_square);
    ++rows;
  }
  ASSERT_GE(rows, 32);
  EXPECT_GT(std::sqrt(square_sum / rows), 0.25) << "an error that is taken for far larger than it is hides a gain";
  EXPECT_LT(std::sqrt(square_sum / rows), 1.2);
}

// Far below every bound, and still no rounding.
TEST(ErrorModel, FaultsExceedTheSpread) {
  const Precision bf16{DataType::bf16, false, DataType::f32};
  const Precision rounded_sum{DataType::bf16, true, DataType::f32};
  const RaggedCase randn = drawn(1500, 5, 0.5F, 0.1352338F);
  EXPECT_LT(ratios({.precision = bf16, .output_factor = 1.01F}, randn).hard, 1);
  EXPECT_GT(ratios({.precision = bf16, .output_factor = 1.01F}, randn).row_rms, StatisticalLimits::kRowRms);
  // 0.4 % of the softmax scale moves the LSE by 0.0026, and the bound for a sum of rounded P is 0.0039.
  EXPECT_LT(ratios({.precision = rounded_sum, .score_factor = 1.004F}, randn).lse, 1);
  EXPECT_GT(ratios({.precision = rounded_sum, .score_factor = 1.004F}, randn).lse_spread, 1);
}

TEST(ErrorModel, FaultsExceedTheBounds) {
  const Precision bf16{DataType::bf16, false, DataType::f32};
  const RaggedCase randn = drawn(333, 5, 1, 0.1352338F);
  EXPECT_GT(ratios({.precision = bf16, .score_factor = 1.1F}, randn).hard, 1);
  EXPECT_GT(ratios({.precision = bf16, .score_factor = 1.01F}, randn).lse, 1);
  EXPECT_GT(ratios({.precision = bf16, .output_factor = 1.05F}, drawn(7, 5, 1, 0.1352338F)).hard, 1);
  EXPECT_GT(ratios({.precision = bf16, .dropped_token = 200}, drawn(333, 5, 0.1F, 0.1352338F)).lse, 1);
  EXPECT_GT(ratios({.precision = bf16, .dropped_token = 3}, drawn(7, 5, 0.1F, 0.1352338F)).hard, 1);
  EXPECT_GT(ratios({.precision = bf16, .base_2_lse = true}, randn).lse, 1);
}

TEST(ErrorModel, NothingIsToleratedWhereNothingIsSeen) {
  const RaggedCase c({.heads = 2, .kv_lens = {0}});
  const OwnedOracle oracle(c);
  EXPECT_EQ(hard_bound(*oracle, 1, 5, {}, DataType::bf16), 0);
  EXPECT_EQ(lse_bound(*oracle, 1, {}), 0);
}

}  // namespace
}  // namespace mla::reference::test
