#include "harness/suite/batching.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/error.hpp"
#include "harness/suite/suite.hpp"
#include "harness/suite/trace_quantiles.hpp"

namespace mla::harness {
namespace {

using testing::ElementsAre;

std::vector<TraceRequest> sampled(std::size_t count) {
  return sample_requests(load_trace_quantiles(suites_directory() / "data" / "trace-quantiles.json").front(), count, 3);
}

struct Scenario {
  const char* name;
  BatchingOptions options;
};

class Batching : public testing::TestWithParam<Scenario> {
 protected:
  std::vector<TraceRequest> requests_ = sampled(300);
};

TEST_P(Batching, NeverExceedsTheBatch) {
  std::size_t most = 0;
  for (ContinuousBatching engine(requests_, GetParam().options); engine.step();)
    most = std::max(most, engine.running().size());
  EXPECT_GE(most, 1u);
  EXPECT_LE(most, static_cast<std::size_t>(GetParam().options.max_batch));
}

TEST_P(Batching, ContextsGrowByOneAStepAndStayInRange) {
  std::map<std::size_t, std::int64_t> before;
  double last_ms = -1;
  for (ContinuousBatching engine(requests_, GetParam().options); engine.step();) {
    EXPECT_GT(engine.now_ms(), last_ms);
    last_ms = engine.now_ms();
    std::map<std::size_t, std::int64_t> now;
    for (const RunningRequest& running : engine.running()) {
      const auto known = before.find(running.request);
      if (known != before.end()) {
        EXPECT_EQ(running.context, known->second + 1);
      }
      EXPECT_LE(running.context + running.tokens_left, GetParam().options.max_context);
      EXPECT_TRUE(now.emplace(running.request, running.context).second) << "a request runs twice";
    }
    before = std::move(now);
  }
}

TEST_P(Batching, RespectsArrivalsAndTheirOrder) {
  const BatchingOptions& options = GetParam().options;
  std::size_t joined = 0;
  for (ContinuousBatching engine(requests_, options); engine.step();) {
    for (const RunningRequest& running : engine.running()) {
      EXPECT_LE(requests_[running.request].arrival_ms / options.rate, engine.now_ms());
      // A request not seen before is the next in line: nobody is passed over.
      EXPECT_LE(running.request, joined);
      joined = std::max(joined, running.request + 1);
    }
  }
  EXPECT_EQ(joined, requests_.size());
}

TEST_P(Batching, DecodesEveryOutputTokenOnce) {
  std::map<std::size_t, std::int64_t> decoded;
  for (ContinuousBatching engine(requests_, GetParam().options); engine.step();) {
    for (const RunningRequest& running : engine.running()) ++decoded[running.request];
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    EXPECT_EQ(decoded[i], std::min(requests_[i].output_tokens, GetParam().options.max_context / 2)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Loads, Batching,
                         testing::Values(Scenario{"plain", {}}, Scenario{"one", {.max_batch = 1, .rate = 0.02}},
                                         Scenario{"busy", {.max_batch = 8, .rate = 20}},
                                         Scenario{"idle", {.max_batch = 8, .step_ms = 1, .rate = 0.1}},
                                         Scenario{"short_contexts", {.max_batch = 32, .max_context = 1000}},
                                         Scenario{"shrunk", {.max_batch = 32, .rate = 4, .shrink = 8}}),
                         [](const auto& one) { return one.param.name; });

TEST(ContinuousBatching, FollowsAHandMadeTrace) {
  // Two places; the third request waits for the first to end after two tokens.
  const std::vector<TraceRequest> requests = {{0, 100, 2}, {5, 50, 3}, {5, 70, 1}, {1000, 9, 1}};
  BatchingOptions options;
  options.max_batch = 2;
  options.step_ms = 10;
  ContinuousBatching engine(requests, options);
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{0, 101, 1}));
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{0, 102, 0}, RunningRequest{1, 51, 2}));
  EXPECT_EQ(engine.load(), 153);
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{1, 52, 1}, RunningRequest{2, 71, 0}));
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{1, 53, 0}));
  EXPECT_EQ(engine.now_ms(), 30);
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{3, 10, 0}));
  EXPECT_EQ(engine.now_ms(), 1000);
  EXPECT_FALSE(engine.step());
}

TEST(ContinuousBatching, SkipsRequestsWithoutOutput) {
  const std::vector<TraceRequest> requests = {{0, 100, 0}, {500, 7, 1}, {900, 7, 0}};
  ContinuousBatching engine(requests, {});
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{1, 8, 0}));
  EXPECT_FALSE(engine.step());
}

TEST(ContinuousBatching, CutsTheInputFirst) {
  const std::vector<TraceRequest> requests = {{0, 10'000, 100}, {0, 10'000, 9'000}};
  BatchingOptions options;
  options.max_context = 1000;
  ContinuousBatching engine(requests, options);
  ASSERT_TRUE(engine.step());
  EXPECT_THAT(engine.running(), ElementsAre(RunningRequest{0, 901, 99}, RunningRequest{1, 501, 499}));
}

TEST(ContinuousBatching, RefusesOptionsOutOfRange) {
  const std::vector<TraceRequest> requests = {{0, 1, 1}};
  const auto build = [&](const BatchingOptions& options) { ContinuousBatching engine(requests, options); };
  EXPECT_THROW(build({.max_batch = 0}), UsageError);
  EXPECT_THROW(build({.max_context = 1}), UsageError);
  EXPECT_THROW(build({.step_ms = 0}), UsageError);
  EXPECT_THROW(build({.step_ms = std::nan("")}), UsageError);
  EXPECT_THROW(build({.rate = -1}), UsageError);
  EXPECT_THROW(build({.shrink = 0.5}), UsageError);
}

}  // namespace
}  // namespace mla::harness
