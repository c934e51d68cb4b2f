#include <cmath>

#include <gtest/gtest.h>

#include "harness/core/error.hpp"
#include "harness/problem/decode_problem.hpp"
#include "harness/suite/model.hpp"

namespace mla::harness {
namespace {

struct Expected {
  const char* model;
  double sm_scale;  // published, to 7 digits
  int tp;
  int heads;
};

class ModelNumbers : public testing::TestWithParam<Expected> {};

TEST_P(ModelNumbers, AreThePublishedOnes) {
  const auto [name, sm_scale, tp, heads] = GetParam();
  EXPECT_NEAR(find_model(name).sm_scale(), sm_scale, 5e-8);
  EXPECT_EQ(find_model(name).heads_per_rank(tp), heads);
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelNumbers,
    testing::Values(Expected{"deepseek-v3", 0.1352338, 8, 16}, Expected{"deepseek-v3", 0.1352338, 4, 32},
                    Expected{"deepseek-v3", 0.1352338, 2, 64}, Expected{"deepseek-v3", 0.1352338, 1, 128},
                    Expected{"deepseek-r1", 0.1352338, 8, 16}, Expected{"kimi-k2", 0.1308608, 8, 8},
                    Expected{"kimi-k2", 0.1308608, 4, 16}, Expected{"kimi-k2-thinking", 0.1446796, 8, 8},
                    Expected{"glm-5", 0.0625, 8, 8}, Expected{"glm-5", 0.0625, 4, 16}));

// Both ends of 576 = latent + rope are fixed by the kernel contract.
TEST(Model, HasTheCacheRowOfTheContract) {
  for (const Model& model : models()) EXPECT_EQ(model.kv_lora_rank + model.qk_rope_dim, kHeadDim) << model.name;
}

// Else a DeepSeek word would carry a scale that the default says already.
TEST(Model, DeepSeekScaleIsTheDefaultOfAWord) {
  EXPECT_EQ(find_model("deepseek-v3").sm_scale(), kDeepSeekSmScale);
  const double mscale = 0.1 * std::log(40.0) + 1;
  EXPECT_DOUBLE_EQ(kDeepSeekSmScale, mscale * mscale / std::sqrt(192.0));
}

TEST(Model, RefusesAGroupThatDoesNotDivideTheHeads) {
  EXPECT_THROW((void)find_model("kimi-k2").heads_per_rank(3), UsageError);
  EXPECT_THROW((void)find_model("kimi-k2").heads_per_rank(0), UsageError);
  EXPECT_THROW((void)find_model("kimi-k2").heads_per_rank(-1), UsageError);
  EXPECT_THROW((void)find_model("kimi-k2").heads_per_rank(128), UsageError);
}

TEST(Model, RefusesAnUnknownName) {
  EXPECT_THROW((void)find_model("deepseek"), UsageError);
}

}  // namespace
}  // namespace mla::harness
