// Statistics of the contents. Every tolerance is a multiple of the standard error of the statistic at its sample size;
// since the numbers are a function of the seed, a test that passes once passes always.
#include "harness/inputs/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suites/inputs/made_inputs.hpp"

namespace mla::harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Lt;

constexpr double kSigmas = 5;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  const double squares = std::accumulate(values.begin(), values.end(), 0.0,
                                         [&](double sum, double x) { return sum + (x - mean) * (x - mean); });
  return {mean, squares / n};
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct TypeCase {
  ElementType type;
  double scale;
  double roundoff;
};

std::ostream& operator<<(std::ostream& out, const TypeCase& types) {
  return out << name_of(resolve(types.type, DataType::e4m3fn));
}

class Types : public ::testing::TestWithParam<TypeCase> {
 protected:
  [[nodiscard]] static Fields fields(Distribution distribution, double sm_scale) {
    const auto& [type, scale, roundoff] = GetParam();
    return {.heads = 16,
            .q_lens = {4},
            .kv_lens = {512},
            .batch = 1,
            .q_type = type,
            .kv_type = type,
            .sm_scale = sm_scale,
            // As large as q, which is as large as 1 / sm_scale: otherwise fp8 saturates.
            .q_scale = type == ElementType::bf16 ? 1 : scale * kDeepSeekSmScale / sm_scale,
            .kv_scale = scale,
            .distribution = distribution,
            .seed = 3};
  }
};

TEST_P(Types, KeysAreStandardNormal) {
  const MadeInputs made(fields(Distribution::randn, 0.1));
  std::vector<double> values;
  for (std::int64_t position = 0; position < 512; ++position) {
    const auto row = made.kv_values(0, position);
    values.insert(values.end(), row.begin(), row.end());
  }
  const auto n = static_cast<double>(values.size());
  const Moments moments = moments_of(values);
  const double rounding = GetParam().roundoff * GetParam().roundoff;
  EXPECT_NEAR(moments.mean, 0, kSigmas / std::sqrt(n));
  EXPECT_NEAR(moments.variance, 1, kSigmas * std::sqrt(2 / n) + rounding);
}

// 64 query rows against 512 keys: the spread of |q|^2, of relative variance 2/576 a row, limits the accuracy.
TEST_P(Types, LogitsHaveTheStatedSpreadWhateverTheScale) {
  const double rows = 64;
  const double keys = 512;
  for (const auto& [distribution, sd] : {std::pair(Distribution::randn, 1.0), std::pair(Distribution::sharp, 3.0)}) {
    for (const double sm_scale : {kDeepSeekSmScale, 1 / std::sqrt(192.0), 1.0 / 576}) {
      const MadeInputs made(fields(distribution, sm_scale));
      std::vector<std::vector<double>> queries;
      for (std::int64_t row = 0; row < 4; ++row) {
        for (int head = 0; head < 16; ++head) queries.push_back(made.q_values(row, head));
      }
      std::vector<double> logits;
      for (std::int64_t position = 0; position < 512; ++position) {
        const auto key = made.kv_values(0, position);
        for (const auto& query : queries) logits.push_back(sm_scale * dot(query, key));
      }
      const double standard_error = std::sqrt(2 / (rows * kHeadDim) + 2 / (keys * kHeadDim) + 2 / (rows * keys));
      const double rounding = 2 * GetParam().roundoff * GetParam().roundoff;
      EXPECT_NEAR(moments_of(logits).variance / (sd * sd), 1, kSigmas * standard_error + rounding)
          << "sm_scale " << sm_scale << ", sd " << sd;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Distribution, Types,
                         ::testing::Values(TypeCase{ElementType::bf16, 1, 0x1p-8},
                                           TypeCase{ElementType::e4m3fn, kDefaultFp8Scale, 0x1p-4},
                                           TypeCase{ElementType::e4m3fnuz, kDefaultFp8Scale, 0x1p-4}));

TEST(NeedlePositions, AreInRangeAscendingAndCoverTheBoundaries) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 17, 63, 64, 65, 255, 256, 257, 1000, 1025, 65536}) {
    for (int q_len = 0; q_len <= kMaxQueryLength; ++q_len) {
      const auto positions = needle_positions(n, q_len);
      ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end(), std::less_equal<>()));
      ASSERT_THAT(positions, Each(AllOf(Ge(0), Lt(n))));
      ASSERT_THAT(positions, Contains(0));
      for (int i = 0; i < q_len; ++i) {
        const std::int64_t last_visible = n - q_len + i;
        if (last_visible < 0) continue;
        ASSERT_THAT(positions, Contains(last_visible)) << n << " " << q_len << " " << i;
        if (i + 1 == q_len) continue;
        ASSERT_THAT(positions, Contains(last_visible + 1)) << "one past what row " << i << " sees";
      }
      for (std::int64_t back = 1; back <= std::min<std::int64_t>(4, n); ++back) {
        ASSERT_THAT(positions, Contains(n - back));
      }
    }
  }
  EXPECT_THAT(needle_positions(0, 4), ElementsAre());
}

TEST(NeedlePositions, BeginAPageOfAnySizeNearTheMiddle) {
  for (const std::int64_t n : {600, 5000, 100'000}) {
    const auto positions = needle_positions(n, 1);
    EXPECT_THAT(positions, Contains(n / 2 / 256 * 256));
  }
}

struct NeedleCase {
  std::int64_t kv_len;
  int heads;
  int q_len;
};

std::ostream& operator<<(std::ostream& out, const NeedleCase& shape) {
  return out << "kv" << shape.kv_len << "_h" << shape.heads << "_q" << shape.q_len;
}

class Needles : public ::testing::TestWithParam<NeedleCase> {
 protected:
  static constexpr int kBatch = 16;

  using Rows = std::vector<std::vector<double>>;

  static Rows keys_of(const MadeInputs& made, int request) {
    Rows keys;
    for (std::int64_t k = 0; k < made.problem.kv_len(request); ++k) keys.push_back(made.kv_values(request, k));
    return keys;
  }

  // Softmax of one row over what it sees, causally.
  static std::vector<double> probabilities(const MadeInputs& made, const Rows& keys, int request, int token, int head) {
    const int q_len = made.problem.q_len(request);
    const auto query = made.q_values(std::int64_t{request} * q_len + token, head);
    std::vector<double> p(keys.size() - static_cast<std::size_t>(q_len - token - 1));
    std::transform(keys.begin(), keys.begin() + std::ssize(p), p.begin(), [&](const std::vector<double>& key) {
      return std::exp(made.problem.fields().sm_scale * dot(query, key));
    });
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
  }
};

// A needle and all ordinary tokens together have logits of equal expected mass, so each of J needles has an expected
// share near 1 / (J + 1). A quarter of that, averaged over rows, is demanded of the tokens at the causal boundary, and
// that the ordinary tokens keep a share as well: faults among them must show too.
TEST_P(Needles, CarryTheMassAtEveryLength) {
  const auto [kv_len, heads, q_len] = GetParam();
  const MadeInputs made(Fields{
      .heads = heads, .q_lens = {q_len}, .kv_lens = {kv_len}, .batch = kBatch, .distribution = Distribution::needle});
  const auto needles = needle_positions(kv_len, q_len);
  const double share = 1 / static_cast<double>(needles.size() + 1);
  double last_visible = 0;
  double all_needles = 0;
  int rows = 0;
  for (int request = 0; request < kBatch; ++request) {
    const Rows keys = keys_of(made, request);
    for (const int token : {0, q_len - 1}) {
      for (const int head : {0, heads - 1}) {
        const auto p = probabilities(made, keys, request, token, head);
        last_visible += p.back();
        for (const std::int64_t needle : needles) {
          if (needle < std::ssize(p)) all_needles += p[static_cast<std::size_t>(needle)];
        }
        ++rows;
      }
    }
  }
  EXPECT_GE(last_visible / rows, share / 4);
  EXPECT_GE(all_needles / rows, 0.5);
  const bool has_ordinary_tokens = kv_len > 64;
  EXPECT_LE(all_needles / rows, has_ordinary_tokens ? 1 - share / 8 : 1 + 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Needles,
                         ::testing::Values(NeedleCase{1, 1, 1}, NeedleCase{4, 16, 4}, NeedleCase{64, 1, 1},
                                           NeedleCase{300, 128, 8}, NeedleCase{2000, 16, 2}, NeedleCase{8192, 1, 1}));

Fields contents(Distribution distribution, std::int64_t kv_len = 2000) {
  return {.heads = 4, .q_lens = {2}, .kv_lens = {kv_len}, .batch = 1, .distribution = distribution, .seed = 5};
}

// Logits of one row against all tokens.
std::vector<double> logits_of(const MadeInputs& made, std::int64_t row, int head) {
  const auto query = made.q_values(row, head);
  std::vector<double> logits;
  for (std::int64_t k = 0; k < made.problem.kv_len(0); ++k) {
    logits.push_back(made.problem.fields().sm_scale * dot(query, made.kv_values(0, k)));
  }
  return logits;
}

std::vector<double> softmax(std::vector<double> logits) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& x : logits) sum += x = std::exp(x - maximum);
  for (double& x : logits) x /= sum;
  return logits;
}

TEST(Contents, UniformWeighsAllTokensAlike) {
  const MadeInputs made(contents(Distribution::uniform));
  const auto p = softmax(logits_of(made, 0, 3));
  EXPECT_LT(*std::max_element(p.begin(), p.end()), 1.1 / 2000);
  EXPECT_GT(*std::min_element(p.begin(), p.end()), 0.9 / 2000);
  EXPECT_NEAR(moments_of(logits_of(made, 1, 0)).variance, 1e-4, 4e-5) << "q's own norm varies by 6 %";
}

// Student's t with 3 degrees of freedom has no fourth moment: over a table of quantiles it is large, and the
// variance 1.
TEST(Contents, HeavyHasTailsAndUnitVariance) {
  const MadeInputs made(contents(Distribution::heavy));
  std::vector<double> values;
  for (std::int64_t k = 0; k < 2000; ++k) {
    const auto row = made.kv_values(0, k);
    values.insert(values.end(), row.begin(), row.end());
  }
  const Moments moments = moments_of(values);
  EXPECT_NEAR(moments.variance, 1, 0.05);
  double fourth = 0;
  for (const double x : values) fourth += x * x * x * x;
  EXPECT_GT(fourth / static_cast<double>(values.size()), 10 * moments.variance) << "3 for a normal distribution";
  EXPECT_NEAR(moments_of(logits_of(made, 0, 0)).variance, 1, 0.3);
}

TEST(Contents, OutlierChannelsAreSixteenTimesAsLarge) {
  const MadeInputs made(contents(Distribution::outlier));
  std::vector<double> squares(kHeadDim);
  for (std::int64_t k = 0; k < 2000; ++k) {
    const auto row = made.kv_values(0, k);
    for (std::size_t d = 0; d < row.size(); ++d) squares[d] += row[d] * row[d] / 2000;
  }
  const auto is_outlier = [](double square) { return square > 1; };
  EXPECT_EQ(std::count_if(squares.begin(), squares.begin() + kLatentDim, is_outlier), 8);
  EXPECT_EQ(std::count_if(squares.begin() + kLatentDim, squares.end(), is_outlier), 0) << "the rope part has none";
  const double low = *std::min_element(squares.begin(), squares.end());
  const double high = *std::max_element(squares.begin(), squares.end());
  EXPECT_NEAR(std::sqrt(high / low), 16, 3);
  EXPECT_NEAR(moments_of(logits_of(made, 0, 0)).variance, 1, 0.5) << "eight channels carry most of it";
}

TEST(Contents, TheSinkHasMostOfTheMassAndSmallValues) {
  const MadeInputs made(contents(Distribution::sink));
  double mass = 0;
  for (int head = 0; head < 4; ++head) mass += softmax(logits_of(made, 0, head)).front() / 4;
  EXPECT_GT(mass, 0.6);
  EXPECT_LT(mass, 0.99);
  const auto sink = made.kv_values(0, 0);
  EXPECT_LT(dot(sink, sink) / kHeadDim, 0.3);
}

TEST(Contents, TheRampMovesTheMaximumToTheEnd) {
  const MadeInputs made(contents(Distribution::ramp));
  const auto p = softmax(logits_of(made, 0, 0));
  EXPECT_GT(std::accumulate(p.begin() + 1500, p.end(), 0.0), 0.7);
  EXPECT_LT(std::accumulate(p.begin(), p.begin() + 500, 0.0), 0.02);
}

TEST(Contents, SaturatingReachesTheLargestValueOften) {
  Fields fields = contents(Distribution::saturating, 200);
  fields.q_type = fields.kv_type = ElementType::e4m3fn;
  fields.q_scale = fields.kv_scale = kDefaultFp8Scale;
  const MadeInputs made(fields);
  int largest = 0;
  for (std::int64_t k = 0; k < 200; ++k) {
    for (const double x : made.kv_values(0, k)) largest += std::abs(x) > 447 * kDefaultFp8Scale ? 1 : 0;
  }
  EXPECT_NEAR(largest / (200.0 * kHeadDim), 0.2, 0.05);
}

// Saturation would turn different needles into equal ones.
TEST(NeedleAmplitude, DoesNotSaturateFp8) {
  EXPECT_LT(4.4 + needle_amplitude(1'000'000), 240 * kDefaultFp8Scale);
}

}  // namespace
}  // namespace mla::harness
