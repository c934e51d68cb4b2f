// The oracle against a triple loop in long double, and the properties that the loop cannot show.
#include "reference/decode.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "suites/reference/ragged_case.hpp"

namespace mla::reference::test {
namespace {

constexpr long double kDoubleRoundoff = 0x1p-53L;
constexpr long double kFloatRoundoff = 0x1p-24L;

using ValueRow = std::array<long double, kValueDim>;

/// Everything that DecodeOracle says of one row.
struct NaiveRow {
  int visible = 0;
  long double lse = -std::numeric_limits<long double>::infinity();
  long double logit_magnitude = 0, probability_max = 0, probability_square_sum = 0;
  ValueRow out{}, abs_sum{}, square_sum{}, value_abs_sum{};
};

NaiveRow naive_row(const RaggedCase& c, int b, int i, int h) {
  const CaseSpec& spec = c.spec();
  const long double scale = static_cast<long double>(spec.sm_scale) * static_cast<long double>(spec.q_scale) *
                            static_cast<long double>(spec.kv_scale);
  NaiveRow row;
  row.visible = c.visible(b, i);
  std::vector<long double> scores;
  for (int k = 0; k < row.visible; ++k) {
    long double dot = 0, magnitude = 0;
    for (int d = 0; d < kHeadDim; ++d) {
      const auto product = static_cast<long double>(c.q(b, i, h, d)) * static_cast<long double>(c.kv(b, k, d));
      dot += product;
      magnitude += std::abs(product);
    }
    scores.push_back(scale * dot);
    row.logit_magnitude = std::max(row.logit_magnitude, std::abs(scale) * magnitude);
  }
  if (scores.empty()) return row;
  const long double maximum = *std::max_element(scores.begin(), scores.end());
  long double sum = 0;
  for (const long double s : scores) sum += std::exp(s - maximum);
  row.lse = maximum + std::log(sum);
  for (int k = 0; k < row.visible; ++k) {
    const long double p = std::exp(scores[static_cast<std::size_t>(k)] - maximum) / sum;
    row.probability_max = std::max(row.probability_max, p);
    row.probability_square_sum += p * p;
    for (std::size_t d = 0; d < kValueDim; ++d) {
      const long double v =
          static_cast<long double>(spec.kv_scale) * static_cast<long double>(c.kv(b, k, static_cast<int>(d)));
      row.out[d] += p * v;
      row.abs_sum[d] += p * std::abs(v);
      row.square_sum[d] += p * p * v * v;
      row.value_abs_sum[d] += std::abs(v);
    }
  }
  return row;
}

/// Rounding errors that double arithmetic may leave: relative to each p, and so to every sum over p.
long double relative_error(const NaiveRow& row) {
  const long double score = (kHeadDim + 4) * kDoubleRoundoff * row.logit_magnitude;
  return 2 * score + (row.visible + 64) * kDoubleRoundoff;
}

void expect_row(const NaiveRow& naive, const DecodeOracle& oracle, std::int64_t row, std::int64_t token) {
  const auto r = static_cast<std::size_t>(row);
  const long double relative = relative_error(naive);
  const auto expect_float = [&](float got, long double want) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(want),
                static_cast<double>(want * (2 * relative + kFloatRoundoff)) + 0x1p-149);
  };
  EXPECT_EQ(oracle.visible[r], naive.visible);
  if (naive.visible == 0) {
    EXPECT_EQ(oracle.lse[r], -std::numeric_limits<double>::infinity());
  } else {
    const long double tolerance = relative + 2 * kDoubleRoundoff * std::abs(naive.lse);
    EXPECT_NEAR(oracle.lse[r], static_cast<double>(naive.lse), static_cast<double>(tolerance));
  }
  expect_float(oracle.logit_magnitude[r], naive.logit_magnitude);
  expect_float(oracle.probability_max[r], naive.probability_max);
  expect_float(oracle.probability_square_sum[r], naive.probability_square_sum);
  for (std::size_t d = 0; d < kValueDim; ++d) {
    const std::size_t element = r * kValueDim + d;
    ASSERT_NEAR(oracle.out[element], static_cast<double>(naive.out[d]),
                static_cast<double>(relative * naive.abs_sum[d]))
        << "dim " << d;
    expect_float(oracle.abs_sum[element], naive.abs_sum[d]);
    expect_float(oracle.square_sum[element], naive.square_sum[d]);
    expect_float(oracle.value_abs_sum[static_cast<std::size_t>(token) * kValueDim + d], naive.value_abs_sum[d]);
  }
}

void expect_matches_naive(const RaggedCase& c) {
  const OwnedOracle oracle(c);
  for (int b = 0; b < c.batch(); ++b) {
    for (int i = 0; i < c.spec().q_lens[static_cast<std::size_t>(b)]; ++i) {
      for (int h = 0; h < c.spec().heads; ++h) {
        SCOPED_TRACE("request " + std::to_string(b) + " query " + std::to_string(i) + " head " + std::to_string(h));
        const std::int64_t row = c.row(b, i, h);
        expect_row(naive_row(c, b, i, h), *oracle, row, row / c.spec().heads);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

class PageSize : public testing::TestWithParam<int> {};

TEST_P(PageSize, MatchesNaive) {
  expect_matches_naive(RaggedCase(
      {.q_lens = {1, 2, 1}, .kv_lens = {17, 300, GetParam()}, .page_size = GetParam(), .padded = GetParam() % 3 == 1}));
}
INSTANTIATE_TEST_SUITE_P(PowersOfTwo, PageSize, testing::Values(1, 2, 4, 8, 16, 32, 64, 128, 256));

class Heads : public testing::TestWithParam<int> {};

TEST_P(Heads, MatchesNaive) {
  expect_matches_naive(RaggedCase({.heads = GetParam(), .q_lens = {2, 1}, .kv_lens = {9, 40}}));
}
INSTANTIATE_TEST_SUITE_P(AnyNumber, Heads, testing::Values(1, 3, 16, 65, 96, 128));

struct TypePair {
  DataType q, kv;
};

class Types : public testing::TestWithParam<TypePair> {};

TEST_P(Types, MatchNaiveWithScales) {
  const auto [q, kv] = GetParam();
  expect_matches_naive(RaggedCase({.q_lens = {1, 3},
                                   .kv_lens = {65, 30},
                                   .page_size = 16,
                                   .q_type = q,
                                   .kv_type = kv,
                                   .q_scale = is_fp8(q) ? 0.0225F : 1.0F,
                                   .kv_scale = is_fp8(kv) ? 0.031F : 1.0F,
                                   .padded = true,
                                   .amplitude = is_fp8(kv) ? 40.0F : 1.0F}));
}
INSTANTIATE_TEST_SUITE_P(AllPairs, Types,
                         testing::Values(TypePair{DataType::bf16, DataType::bf16},
                                         TypePair{DataType::bf16, DataType::e4m3fn},
                                         TypePair{DataType::bf16, DataType::e4m3fnuz},
                                         TypePair{DataType::e4m3fn, DataType::e4m3fn},
                                         TypePair{DataType::e4m3fnuz, DataType::e4m3fnuz}));

TEST(DecodeOracle, NegativeScaleMatchesNaive) {
  expect_matches_naive(RaggedCase({.q_scale = 0.5F, .kv_scale = -1.75F, .sm_scale = 0.05F}));
}

class Causal : public testing::TestWithParam<bool> {};

TEST_P(Causal, BoundariesMatchNaive) {
  expect_matches_naive(RaggedCase({.heads = 2,
                                   .q_lens = {8, 8, 8, 8, 3, 5, 1, 2, 7},
                                   .kv_lens = {8, 9, 128, 131, 129, 64, 1, 2, 300},
                                   .page_size = 64,
                                   .causal = GetParam()}));
}

TEST_P(Causal, EmptyAndShortRequestsMatchNaive) {
  expect_matches_naive(RaggedCase({.heads = 2,
                                   .q_lens = {0, 4, 4, 1, 0, 8, 1},
                                   .kv_lens = {5, 0, 2, 0, 0, 1, 3},
                                   .page_size = 2,
                                   .causal = GetParam()}));
}
INSTANTIATE_TEST_SUITE_P(OnAndOff, Causal, testing::Bool());

TEST(DecodeOracle, RowsThatSeeNothingAreDefined) {
  const RaggedCase c({.heads = 2, .q_lens = {3, 1}, .kv_lens = {1, 0}});
  const OwnedOracle oracle(c);
  for (const std::int64_t row : {c.row(0, 0, 0), c.row(0, 1, 1), c.row(1, 0, 0), c.row(1, 0, 1)}) {
    const auto r = static_cast<std::size_t>(row);
    EXPECT_EQ(oracle->visible[r], 0);
    EXPECT_EQ(oracle->lse[r], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(oracle->probability_max[r], 0);
    EXPECT_THAT(oracle->out.subspan(r * kValueDim, kValueDim), testing::Each(0.0));
    EXPECT_THAT(oracle->abs_sum.subspan(r * kValueDim, kValueDim), testing::Each(0.0F));
  }
}

TEST(DecodeOracle, BatchOfNothingWritesNothing) {
  const RaggedCase c({.q_lens = {0, 0}, .kv_lens = {0, 7}});
  const OwnedOracle oracle(c);
  EXPECT_EQ(oracle->rows, 0);
}

// More tokens than a share, so that sums are folded; several shares are delivered in any order.
TEST(DecodeOracle, LongRequestMatchesNaive) {
  expect_matches_naive(RaggedCase({.heads = 1, .q_lens = {3}, .kv_lens = {4099}, .page_size = 64}));
}

TEST(DecodeOracle, SharpSoftmaxWithRisingMaximumMatchesNaive) {
  RaggedCase c({.heads = 1, .q_lens = {1}, .kv_lens = {2500}, .page_size = 16, .sm_scale = 1, .amplitude = 0.1F});
  // The last dimension drives the logits up to 50, so that the maximum moves in every block and share.
  c.set_q(0, 0, 0, kHeadDim - 1, 1);
  for (int k = 0; k < 2500; ++k) c.set_kv(0, k, kHeadDim - 1, static_cast<float>(k) / 50);
  expect_matches_naive(c);
}

class ExtremeLogits : public testing::TestWithParam<float> {};

TEST_P(ExtremeLogits, NeitherOverflowNorVanish) {
  RaggedCase c({.heads = 1, .kv_lens = {1500}, .page_size = 64, .sm_scale = 1, .amplitude = 0.01F});
  c.set_q(0, 0, 0, kHeadDim - 1, GetParam());
  for (int k = 0; k < 1500; ++k) c.set_kv(0, k, kHeadDim - 1, k % 7 == 3 ? 1.0F : -1.0F);
  expect_matches_naive(c);
}
INSTANTIATE_TEST_SUITE_P(BothSigns, ExtremeLogits, testing::Values(1e4F, -1e4F));

TEST(DecodeOracle, HiddenTokensDoNotLeakEvenIfNaN) {
  RaggedCase c({.heads = 2, .q_lens = {3}, .kv_lens = {150}, .page_size = 32});
  const OwnedOracle clean(c);
  for (int d = 0; d < kHeadDim; ++d) c.set_kv(0, 149, d, std::numeric_limits<float>::quiet_NaN());
  const OwnedOracle spoilt(c);
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 2; ++i) {
      const auto r = static_cast<std::size_t>(c.row(0, i, h));
      EXPECT_EQ(spoilt->lse[r], clean->lse[r]);
      for (std::size_t d = 0; d < kValueDim; ++d) {
        ASSERT_EQ(spoilt->out[r * kValueDim + d], clean->out[r * kValueDim + d]);
      }
    }
    const auto last = static_cast<std::size_t>(c.row(0, 2, h));
    EXPECT_TRUE(std::isnan(spoilt->lse[last]));
    EXPECT_TRUE(std::isnan(spoilt->out[last * kValueDim]));
  }
}

TEST(DecodeOracle, VisibleNaNReachesOnlyItsDimensionAndQuery) {
  RaggedCase c({.heads = 2, .kv_lens = {150}, .page_size = 32});
  c.set_q(0, 0, 1, 0, std::numeric_limits<float>::quiet_NaN());
  const OwnedOracle oracle(c);
  EXPECT_TRUE(std::isfinite(oracle->lse[0]));
  EXPECT_TRUE(std::isfinite(oracle->out[0]));
  EXPECT_TRUE(std::isnan(oracle->lse[1]));
  EXPECT_TRUE(std::isnan(oracle->out[kValueDim]));
}

/// Sets the number of OpenMP threads for a scope.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

TEST(DecodeOracle, BitsDoNotDependOnThreads) {
  const RaggedCase c({.heads = 20, .q_lens = {1, 2, 4}, .kv_lens = {5000, 5, 300}, .page_size = 64});
  const auto bytes_with = [&](int threads) {
    const Threads scope(threads);
    OwnedOracle oracle(c);
    return std::vector<std::byte>(oracle.bytes().begin(), oracle.bytes().end());
  };
  const std::vector<std::byte> one = bytes_with(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(bytes_with(threads), one) << threads << " threads";
}

TEST(DecodeOracle, BitsDoNotDependOnPagesAndStrides) {
  CaseSpec spec{.heads = 5, .q_lens = {2, 1}, .kv_lens = {700, 3}};
  const auto bytes_of = [&] {
    OwnedOracle oracle{RaggedCase(spec)};
    return std::vector<std::byte>(oracle.bytes().begin(), oracle.bytes().end());
  };
  const std::vector<std::byte> first = bytes_of();
  for (const int page_size : {1, 64, 256}) {
    for (const bool padded : {false, true}) {
      spec.page_size = page_size;
      spec.padded = padded;
      EXPECT_EQ(bytes_of(), first) << page_size << padded;
    }
  }
}

TEST(DecodeOracle, RefusesMemoryOfAnotherShape) {
  std::vector<std::byte> memory(DecodeOracle::bytes(2, 3) - 1);
  EXPECT_THROW((void)DecodeOracle::over(memory, 2, 3), std::invalid_argument);
  const RaggedCase c({.heads = 3});
  const OwnedOracle other(2, 3);
  EXPECT_THROW(decode(c.view(), *other), std::invalid_argument);
}

TEST(DecodeOracle, SpansAreDisjointAlignedAndInside) {
  OwnedOracle oracle(7, 5);
  std::vector<std::span<const std::byte>> spans = {std::as_bytes(oracle->out),
                                                   std::as_bytes(oracle->lse),
                                                   std::as_bytes(oracle->abs_sum),
                                                   std::as_bytes(oracle->square_sum),
                                                   std::as_bytes(oracle->value_abs_sum),
                                                   std::as_bytes(oracle->logit_magnitude),
                                                   std::as_bytes(oracle->probability_max),
                                                   std::as_bytes(oracle->probability_square_sum),
                                                   std::as_bytes(oracle->visible)};
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  const std::byte* end = oracle.bytes().data();
  for (const auto& span : spans) {
    EXPECT_GE(span.data(), end);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span.data()) % 64, 0U);
    end = span.data() + span.size();
  }
  EXPECT_LE(end, oracle.bytes().data() + DecodeOracle::bytes(7, 5));
}

}  // namespace
}  // namespace mla::reference::test
