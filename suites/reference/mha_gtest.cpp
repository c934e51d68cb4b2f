// Absorbed decode must equal multi-head attention from the same weights.
#include "reference/mha.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "suites/reference/ragged_case.hpp"

namespace mla::reference::test {
namespace {

constexpr int kNopeDim = 128;

/// Weights and queries whose absorbed form W_UK^T q_nope is exact in bf16: integers of magnitude at most
/// nope_dim * 1 * 2 = 256, all of which bf16 holds.
struct Weights {
  int value_dim;
  std::vector<double> w_uk, w_uv, q_nope, q_pe;

  Weights(const RaggedCase& c, int value_width, unsigned seed) : value_dim(value_width) {
    const auto heads = static_cast<std::size_t>(c.spec().heads);
    const auto rows = static_cast<std::size_t>(c.total_q()) * heads;
    std::mt19937 generator(seed);
    const auto integers = [&](std::size_t count, int limit) {
      std::uniform_int_distribution<int> distribution(-limit, limit);
      std::vector<double> values(count);
      for (double& value : values) value = distribution(generator);
      return values;
    };
    w_uk = integers(heads * kNopeDim * kLatentDim, 1);
    q_nope = integers(rows * kNopeDim, 2);
    q_pe = integers(rows * kRopeDim, 100);
    std::normal_distribution<double> normal;
    w_uv.resize(heads * static_cast<std::size_t>(value_dim) * kLatentDim);
    for (double& value : w_uv) value = normal(generator);
  }

  [[nodiscard]] double absorbed(std::size_t row, std::size_t head, std::size_t d) const {
    if (d >= kLatentDim) return q_pe[row * kRopeDim + d - kLatentDim];
    double sum = 0;
    for (std::size_t j = 0; j < kNopeDim; ++j) {
      sum += w_uk[(head * kNopeDim + j) * kLatentDim + d] * q_nope[row * kNopeDim + j];
    }
    return sum;
  }
};

void absorb(const Weights& weights, RaggedCase& c) {
  for (int b = 0; b < c.batch(); ++b) {
    for (int i = 0; i < c.spec().q_lens[static_cast<std::size_t>(b)]; ++i) {
      for (int h = 0; h < c.spec().heads; ++h) {
        for (int d = 0; d < kHeadDim; ++d) {
          const double value = weights.absorbed(static_cast<std::size_t>(c.row(b, i, h)), static_cast<std::size_t>(h),
                                                static_cast<std::size_t>(d));
          c.set_q(b, i, h, d, static_cast<float>(value));
          ASSERT_EQ(static_cast<double>(c.q(b, i, h, d)), value) << "the test's premise: exact in bf16";
        }
      }
    }
  }
}

MhaResult multi_head(const Weights& weights, const RaggedCase& c) {
  const DecodeInputs view = c.view();
  MhaInputs inputs;
  inputs.heads = view.heads;
  inputs.nope_dim = kNopeDim;
  inputs.value_dim = weights.value_dim;
  inputs.w_uk = weights.w_uk;
  inputs.w_uv = weights.w_uv;
  inputs.q_nope = weights.q_nope;
  inputs.q_pe = weights.q_pe;
  inputs.kv = view.kv;
  inputs.batch = view.batch;
  inputs.causal = view.causal;
  inputs.sm_scale = static_cast<double>(view.sm_scale);
  inputs.kv_scale = static_cast<double>(view.kv_scale);
  return multi_head_attention(inputs);
}

void expect_forms_agree(const CaseSpec& spec, int value_dim = 128) {
  RaggedCase c(spec);
  const Weights weights(c, value_dim, spec.seed);
  absorb(weights, c);
  const OwnedOracle oracle(c);
  const MhaResult mha = multi_head(weights, c);
  const auto heads = static_cast<std::size_t>(spec.heads);
  const auto width = static_cast<std::size_t>(value_dim);
  for (std::size_t row = 0; row < mha.lse.size(); ++row) {
    if (oracle->visible[row] == 0) {
      EXPECT_EQ(mha.lse[row], -std::numeric_limits<double>::infinity());
    } else {
      EXPECT_NEAR(oracle->lse[row], mha.lse[row], 1e-12 * std::max(1.0, std::abs(mha.lse[row])));
    }
    for (std::size_t e = 0; e < width; ++e) {
      double value = 0, scale = 0;
      for (std::size_t d = 0; d < kLatentDim; ++d) {
        const double w = weights.w_uv[(row % heads * width + e) * kLatentDim + d];
        value += w * oracle->out[row * kLatentDim + d];
        scale += std::abs(w) * static_cast<double>(oracle->abs_sum[row * kLatentDim + d]);
      }
      ASSERT_NEAR(mha.out[row * width + e], value, 1e-12 * scale) << "row " << row << " value " << e;
    }
  }
}

TEST(MhaOracle, EqualsAbsorbedDecodeOnRaggedBatch) {
  expect_forms_agree({.heads = 3, .q_lens = {1, 2, 4}, .kv_lens = {33, 64, 21}, .page_size = 16, .sm_scale = 0.01F});
}

TEST(MhaOracle, EqualsAbsorbedDecodeWithoutCausalMask) {
  expect_forms_agree({.heads = 2, .q_lens = {3, 1}, .kv_lens = {40, 130}, .sm_scale = 0.01F, .causal = false});
}

TEST(MhaOracle, EqualsAbsorbedDecodeOnSharpSoftmax) {
  expect_forms_agree({.heads = 2, .q_lens = {2}, .kv_lens = {70}, .page_size = 64, .sm_scale = 0.1F});
}

TEST(MhaOracle, EqualsAbsorbedDecodeOnScaledFp8Cache) {
  for (const DataType type : {DataType::e4m3fn, DataType::e4m3fnuz}) {
    expect_forms_agree({.heads = 2,
                        .q_lens = {1, 3},
                        .kv_lens = {50, 9},
                        .kv_type = type,
                        .kv_scale = 0.0225F,
                        .sm_scale = 0.01F,
                        .padded = true,
                        .amplitude = 40});
  }
}

TEST(MhaOracle, EqualsAbsorbedDecodeOnEmptyAndShortRequests) {
  expect_forms_agree({.heads = 2, .q_lens = {2, 0, 4, 1}, .kv_lens = {0, 6, 2, 1}, .page_size = 1, .sm_scale = 0.01F});
}

TEST(MhaOracle, EqualsAbsorbedDecodeWithWideValues) {
  expect_forms_agree({.heads = 2, .q_lens = {1}, .kv_lens = {20}, .sm_scale = 0.01F}, 256);
}

}  // namespace
}  // namespace mla::reference::test
