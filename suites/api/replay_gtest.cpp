// A graph of plan, decode and merge, captured once, gives after every change of lengths, page tables and queries in the
// same buffers what launches one by one give, bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "suites/api/device_call.hpp"

namespace mla::test {
namespace {

using harness::hip::Graph;

// The host executes some thousand tokens a second.
int longest_kv() {
  DeviceModel model;
  EXPECT_TRUE(describe_device(&model).ok());
  return std::string_view(model.target) == "host" ? 100 : 6000;
}

/// How a framework fills up a batch to the size of a captured graph.
enum class Padding : std::uint8_t { no_query, query_without_kv, query_of_one_token };

// The last requests of a batch are padding; the lengths of the others differ by up to two orders of magnitude.
CallContents contents(const CallShape& shape, int max_kv, std::uint64_t seed, Padding padding) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  CallContents result;
  result.seed = seed;
  const int live = pick(1, shape.max_batch);
  for (int i = 0; i < shape.max_batch; ++i) {
    const bool padded = i >= live;
    const int longest = pick(0, 2) == 0 ? max_kv : std::max(1, max_kv / 20);
    result.q_len.push_back(padded ? (padding == Padding::no_query ? 0 : 1) : pick(i == 0 ? 1 : 0, shape.max_q_len));
    result.kv_len.push_back(padded ? (padding == Padding::query_of_one_token ? 1 : 0) : pick(i == 0 ? 1 : 0, longest));
  }
  return result;
}

CallContents nothing(const CallShape& shape) {
  const std::vector<int> zeros(static_cast<std::size_t>(shape.max_batch), 0);
  return {zeros, zeros, 0};
}

class Replay : public testing::TestWithParam<CallShape> {};

TEST_P(Replay, EqualsEagerAfterEveryChange) {
  const CallShape& shape = GetParam();
  const int max_kv = longest_kv();
  DeviceCall call(shape, max_kv);
  call.set(nothing(shape));
  const Graph graph(call.stream, [&] {
    ASSERT_EQ(message(call.plan()), "ok");
    ASSERT_EQ(message(call.decode()), "ok");
  });
  std::vector<std::vector<std::byte>> answers;
  constexpr Padding kPaddings[] = {Padding::no_query, Padding::query_without_kv, Padding::query_of_one_token};
  constexpr std::uint64_t kChanges = 3;
  for (std::uint64_t seed = 1; seed <= kChanges; ++seed) {
    call.set(contents(shape, max_kv, seed, kPaddings[seed % 3]));
    // The replay comes first: what the launches one by one leave behind cannot help it.
    const std::vector<std::byte> replayed = call.replay(graph);
    ASSERT_EQ(replayed, call.eager()) << "contents " << seed;
    ASSERT_EQ(replayed, call.replay(graph)) << "contents " << seed << ", again";
    ASSERT_EQ(message(status_of(call.header())), "ok");
    ASSERT_THAT(answers, testing::Not(testing::Contains(replayed))) << "contents with equal answers show nothing";
    answers.push_back(replayed);
  }
}

TEST_P(Replay, PaddedRowsAreDefinedAndRowsBeyondTheBatchUntouched) {
  const CallShape& shape = GetParam();
  DeviceCall call(shape, 64);
  CallContents padded = nothing(shape);
  padded.q_len.assign(padded.q_len.size(), 1);
  padded.kv_len[0] = 33;  // all others: a query that sees nothing
  padded.q_len.back() = 0;
  call.set(nothing(shape));
  const Graph graph(call.stream, [&] {
    ASSERT_EQ(message(call.plan()), "ok");
    ASSERT_EQ(message(call.decode()), "ok");
  });
  call.set(padded);
  const std::vector<std::byte> outputs = call.replay(graph);
  EXPECT_TRUE(std::isfinite(DeviceCall::lse(outputs, shape, 0, 0)));
  const int tokens = shape.max_batch - 1;
  for (int token = 1; token < tokens; ++token) {
    for (int head = 0; head < shape.heads; ++head) {
      ASSERT_THAT(DeviceCall::row(outputs, shape, token, head), testing::Each(0));
      ASSERT_EQ(DeviceCall::lse(outputs, shape, token, head), -INFINITY);
    }
  }
  for (int token = tokens; token < shape.max_batch * shape.max_q_len; ++token) {
    ASSERT_THAT(DeviceCall::row(outputs, shape, token, 0), testing::Each(0xffff));
    ASSERT_TRUE(std::isnan(DeviceCall::lse(outputs, shape, token, 0)));
  }
}

// What the test above is for: without the planner in the graph, a replay works by the lengths of the capture.
TEST(ReplayTest, FindsAGraphThatDoesNotPlan) {
  const CallShape shape{.name = "stale", .max_batch = 2};
  DeviceCall call(shape, 150);
  call.set({{1, 1}, {20, 40}, 1});
  const std::vector<std::byte> first = call.eager();
  const Graph stale(call.stream, [&] { ASSERT_EQ(message(call.decode()), "ok"); });
  call.set({{1, 1}, {150, 90}, 2});
  stale.launch(call.stream);
  call.stream.synchronize();
  const std::vector<std::byte> replayed = call.output_bytes();
  EXPECT_NE(replayed, first) << "queries are read at the replay";
  EXPECT_NE(replayed, call.eager());
}

std::vector<CallShape> shapes() {
  constexpr DataType kBf16 = DataType::bf16;
  constexpr DataType kFp8 = DataType::e4m3fn;
  return {
      {.name = "bf16"},
      {.name = "bf16_all_workers", .max_batch = 7, .page_size = 64, .workers = 0},
      {.name = "bf16_mtp", .heads = 5, .max_q_len = 3, .page_size = 1},
      {.name = "bf16_not_causal", .heads = 16, .max_q_len = 2, .causal = false},
      {.name = "bf16_128_heads", .heads = 128, .max_batch = 3, .page_size = 64},
      {.name = "mixed", .q = kBf16, .kv = kFp8},
      {.name = "mixed_mtp", .q = kBf16, .kv = kFp8, .heads = 12, .max_q_len = 2},
      {.name = "fp8", .q = kFp8, .kv = kFp8},
      {.name = "fp8_128_heads", .q = kFp8, .kv = kFp8, .heads = 128, .max_batch = 3, .page_size = 64},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, Replay, testing::ValuesIn(shapes()),
                         [](const auto& shown) { return shown.param.name; });

}  // namespace
}  // namespace mla::test
