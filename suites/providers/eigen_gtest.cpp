// What the eigen provider promises beyond right values: repeatable bits, splits that do not matter, a plan without
// holes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "harness/providers/eigen/provider.hpp"
#include "harness/providers/eigen/row_tile.hpp"
#include "harness/providers/eigen/split_plan.hpp"
#include "harness/providers/eigen/widen.hpp"
#include "suites/providers/decode_case.hpp"

namespace mla::harness::eigen {
namespace {

using test::DecodeFixture;

std::vector<std::byte> bits(const DecodeFixture& fixture, int threads) {
  fixture.run(*make_eigen_provider(threads));
  return fixture.output_bytes();
}

TEST(Eigen, BitsDependNeitherOnThreadsNorOnTheRun) {
  const DecodeFixture fixture("decode:h=5,b=3,q=1+3+2,kv=2000+700+90");
  const auto once = bits(fixture, 1);
  EXPECT_EQ(bits(fixture, 1), once);
  for (int run = 0; run < 5; ++run) EXPECT_EQ(bits(fixture, 2), once);
  EXPECT_EQ(bits(fixture, 3), once);
}

TEST(Eigen, SecondLaunchOfOneExecutionGivesTheSameBits) {
  const DecodeFixture fixture("decode:h=5,b=2,kv=2000+700");
  const auto execution = make_eigen_provider(2)->prepare(fixture.as_case());
  execution->run();
  const auto first = fixture.output_bytes();
  fixture.poison();
  execution->run();
  EXPECT_EQ(fixture.output_bytes(), first);
}

TEST(Eigen, AnyNumberOfSplitsIsWithinTheSameBounds) {
  for (int splits = 1; splits <= 8; ++splits) {
    const DecodeFixture fixture(fmt::format("decode:h=2,q=2,kv=2500,splits={}", splits));
    EXPECT_EQ(make_split_plan(fixture.inputs(), 0, splits).works.size(), static_cast<std::size_t>(splits));
    fixture.run(*make_eigen_provider(2));
    test::expect_matches_definition(fixture);
  }
}

TEST(Eigen, NanInAVisibleTokenReachesEveryRowWhateverTheSplits) {
  for (const int splits : {1, 4}) {
    const DecodeFixture fixture(fmt::format("decode:h=2,kv=1000,splits={}", splits));
    const DecodeInputs inputs = fixture.inputs();
    auto* kv = static_cast<Bfloat16*>(const_cast<void*>(inputs.kv.data));
    kv[inputs.batch.kv_indices[2] * inputs.kv.page_stride] = {0x7fc0};
    fixture.run(*make_eigen_provider(2));
    const DecodeOutputs outputs = fixture.outputs();
    for (int head = 0; head < 2; ++head) {
      EXPECT_TRUE(std::isnan(outputs.lse.data[head * outputs.lse.head_stride])) << "splits " << splits;
      const auto* out = static_cast<const Bfloat16*>(outputs.out.data) + head * outputs.out.head_stride;
      EXPECT_TRUE(std::isnan(out[0].to_float())) << "splits " << splits;
    }
  }
}

TEST(Eigen, TellsItsStagesApart) {
  const DecodeFixture fixture("decode:h=2,kv=1000");
  const auto execution = make_eigen_provider(1)->prepare(fixture.as_case());
  std::vector<std::string> stages;
  for (const StageTime& time : execution->stage_times()) stages.push_back(time.stage);
  EXPECT_THAT(stages, testing::ElementsAre("plan", "decode", "merge"));
  test::expect_matches_definition(fixture);
}

TEST(Eigen, DigestOfTheSourcesIsSixteenHexDigits) {
  const DecodeFixture fixture("decode:h=2,kv=10");
  EXPECT_THAT(make_eigen_provider(1)->prepare(fixture.as_case())->kernel().digest,
              testing::MatchesRegex("[0-9a-f]{16}"));
}

// --- widening ---------------------------------------------------------------------------------------------------

void expect_same(float got, float expected, int code) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << "code " << code;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << "code " << code;
  }
}

template <class Float8>
void expect_every_code_widened(DataType dtype) {
  std::vector<std::uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  std::vector<float> all(256);
  widen(codes.data(), dtype, 256, all.data());  // the path for rows with NaN
  for (int code = 0; code < 256; ++code) {
    const float expected = Float8{codes[static_cast<std::size_t>(code)]}.to_float();
    expect_same(all[static_cast<std::size_t>(code)], expected, code);
    float one = 0;
    widen(&codes[static_cast<std::size_t>(code)], dtype, 1, &one);  // the path for rows without
    expect_same(one, expected, code);
  }
}

TEST(Widen, EveryE4m3fnCode) {
  expect_every_code_widened<Float8E4M3FN>(DataType::e4m3fn);
}
TEST(Widen, EveryE4m3fnuzCode) {
  expect_every_code_widened<Float8E4M3FNUZ>(DataType::e4m3fnuz);
}

TEST(Widen, EveryBf16Code) {
  std::vector<std::uint16_t> codes(65536);
  std::iota(codes.begin(), codes.end(), std::uint16_t{0});
  std::vector<float> all(codes.size());
  widen(codes.data(), DataType::bf16, 65536, all.data());
  for (std::size_t i = 0; i < codes.size(); ++i)
    expect_same(all[i], Bfloat16{codes[i]}.to_float(), static_cast<int>(i));
}

// --- plan -------------------------------------------------------------------------------------------------------

void expect_plan_covers(const char* word, int workers, int split_limit) {
  SCOPED_TRACE(fmt::format("{} workers={} splits={}", word, workers, split_limit));
  const DecodeFixture fixture(word);
  const DecodeInputs inputs = fixture.inputs();
  const SplitPlan plan = make_split_plan(inputs, workers, split_limit);

  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> ranges;
  std::map<std::int64_t, int> partial_rows;
  for (const Work& work : plan.works) {
    EXPECT_LT(work.row_begin, work.row_end);
    EXPECT_LE(work.row_end - work.row_begin, kRowsPerWork);
    for (int row = work.row_begin; row < work.row_end; ++row) {
      ranges[{work.request, row}].emplace_back(work.kv_begin, work.kv_end);
      if (work.partial_row != Work::kWhole) ++partial_rows[work.partial_row + row - work.row_begin];
    }
  }
  for (const auto& [row, count] : partial_rows) EXPECT_EQ(count, 1) << "partial row " << row;
  EXPECT_EQ(static_cast<std::int64_t>(partial_rows.size()), plan.partial_rows);

  for (int request = 0; request < inputs.batch.batch; ++request) {
    const int q_len = inputs.batch.query_length(request);
    const std::int64_t kv_len = inputs.batch.kv_length(request, inputs.kv.page_size);
    for (int row = 0; row < q_len * inputs.heads; ++row) {
      auto& pieces = ranges[{request, row}];
      std::sort(pieces.begin(), pieces.end());
      if (split_limit > 0) {
        EXPECT_LE(static_cast<int>(pieces.size()), split_limit);
      }
      std::int64_t covered = 0;
      for (const auto& [begin, end] : pieces) {
        EXPECT_EQ(begin, covered);
        if (pieces.size() > 1) {
          EXPECT_LT(begin, end);
        }
        covered = end;
      }
      EXPECT_GE(covered, visible_tokens(kv_len, q_len, row / inputs.heads, inputs.causal));
      EXPECT_LE(covered, kv_len);
    }
  }
}

TEST(SplitPlan, CoversEveryVisibleTokenOnceAndInOrder) {
  for (const char* word :
       {"decode:h=1,kv=1", "decode:h=3,b=3,q=1+2+4,kv=0+70+0", "decode:h=100,q=3,kv=5000", "decode:h=16,b=8,kv=900",
        "decode:h=4,b=4,q=1+8+0+5,kv=241+5000+77+3", "decode:h=4,q=8,kv=484,causal=0"}) {
    for (const int workers : {0, 1, 7, 1000}) {
      for (const int split_limit : {0, 1, 3}) expect_plan_covers(word, workers, split_limit);
    }
  }
}

TEST(SplitPlan, OneLongRequestGivesEveryWorkerSomething) {
  const DecodeFixture fixture("decode:h=1,kv=20000");
  EXPECT_GE(make_split_plan(fixture.inputs(), 64, 0).works.size(), 60U);
}

TEST(SplitPlan, ManyShortRequestsAreNotSplit) {
  const DecodeFixture fixture("decode:h=1,b=80,kv=200");
  const SplitPlan plan = make_split_plan(fixture.inputs(), 0, 0);
  EXPECT_EQ(plan.works.size(), 80U);
  EXPECT_TRUE(plan.merges.empty());
}

TEST(SplitPlan, TokensPerWork) {
  EXPECT_EQ(tokens_per_work(0, 64), 5 * kTileTokens);
  EXPECT_EQ(tokens_per_work(64 * 480, 64), 480);
  EXPECT_EQ(tokens_per_work(64 * 480 + 1, 64), 528);
}

TEST(SplitPlan, VisibleTokens) {
  EXPECT_EQ(visible_tokens(10, 4, 0, true), 7);
  EXPECT_EQ(visible_tokens(10, 4, 3, true), 10);
  EXPECT_EQ(visible_tokens(2, 4, 0, true), 0);
  EXPECT_EQ(visible_tokens(2, 4, 0, false), 2);
}

}  // namespace
}  // namespace mla::harness::eigen
