// The planner's invariants over random and named batches. Lengths in tokens; kv_len is written as the bug reports have
// it.
#include "mla/plan.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mla/shape.hpp"
#include "suites/plan/plan_case.hpp"
#include "suites/plan/random_case.hpp"

namespace mla::test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Lt;

// What is wrong with the plan of a case, or nothing.
std::string defect(const PlanCase& problem) {
  if (const Status status = validate(problem.limits); !status.ok()) return message(status);
  const RaggedBatch batch(problem);
  const GuardedPlan plan(workspace_layout(problem.limits));
  make_plan(plan_problem(problem.limits, batch.view(), problem.page_size), plan.view());
  if (const std::string name = plan.broken_guard(); !name.empty()) return "wrote beyond the end of " + name;
  return broken_invariant(problem, plan.view());
}

PlanBits planned(const PlanCase& problem) {
  const RaggedBatch batch(problem);
  const GuardedPlan plan(workspace_layout(problem.limits));
  make_plan(plan_problem(problem.limits, batch.view(), problem.page_size), plan.view());
  return bits_of(plan.view(), problem.limits.num_workers);
}

PlanCase make_case(std::int32_t heads, std::vector<std::int32_t> q_len, std::vector<std::int32_t> kv_len,
                   std::int32_t workers = 256, std::int32_t page_size = 1) {
  PlanCase problem;
  problem.limits.heads = heads;
  problem.limits.max_batch = static_cast<std::int32_t>(q_len.size());
  problem.limits.max_q_len = 1;
  for (const std::int32_t q : q_len) problem.limits.max_q_len = std::max(problem.limits.max_q_len, q);
  problem.limits.num_workers = workers;
  problem.page_size = page_size;
  problem.q_len = std::move(q_len);
  problem.kv_len = std::move(kv_len);
  return problem;
}

PlanCase uniform_case(std::int32_t heads, std::int32_t q_len, std::int32_t batch, std::int32_t kv_len,
                      std::int32_t workers = 256, std::int32_t page_size = 1) {
  return make_case(heads, std::vector<std::int32_t>(batch, q_len), std::vector<std::int32_t>(batch, kv_len), workers,
                   page_size);
}

MATCHER(HasGoodPlan, "has a plan that keeps every invariant") {
  const std::string found = defect(arg);
  *result_listener << found << " for " << to_string(arg);
  return found.empty();
}

// 100,000 batches in shares, so that a parallel ctest runs them side by side.
class RandomBatches : public ::testing::TestWithParam<int> {};
constexpr int kShares = 10;
constexpr int kBatchesAShare = 10'000;

TEST_P(RandomBatches, KeepEveryInvariant) {
  for (int i = 0; i < kBatchesAShare; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * kBatchesAShare + i;
    ASSERT_THAT(random_case(seed), HasGoodPlan()) << "seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Share, RandomBatches, ::testing::Range(0, kShares));

TEST(Plan, IsNeverWorseThanTheBestEqualSplit) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const PlanCase problem = random_case(seed);
    const PlanHeader header = planned(problem).header;
    ASSERT_EQ(header.equal_split_makespan, best_equal_split_makespan(problem)) << to_string(problem);
    ASSERT_LE(header.makespan, header.equal_split_makespan) << to_string(problem);
  }
}

TEST(Plan, DoesNotDependOnWhatTheWorkspaceHeld) {
  // As in a captured graph: the buffers hold the plan of the step before.
  PlanCase first = random_case(11);
  PlanCase second = first;
  std::reverse(second.kv_len.begin(), second.kv_len.end());
  for (std::int32_t& length : second.kv_len) length = length / 3 + 7;
  const RaggedBatch first_batch(first);
  const RaggedBatch second_batch(second);
  const GuardedPlan plan(workspace_layout(first.limits));
  make_plan(plan_problem(first.limits, first_batch.view(), first.page_size), plan.view());
  make_plan(plan_problem(second.limits, second_batch.view(), second.page_size), plan.view());
  EXPECT_EQ(bits_of(plan.view(), second.limits.num_workers), planned(second));
}

PlanBits without_pages(PlanBits bits) {
  for (Work& work : bits.works) work.first_page = 0;
  for (WorkerStart& start : bits.starts) start.first.first_page = 0;
  return bits;
}

TEST(Plan, DoesNotDependOnThePageSizeButForTheFirstPage) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    PlanCase problem = random_case(seed);
    problem.page_size = 1;
    const PlanBits base = without_pages(planned(problem));
    for (std::int32_t page_size = 2; page_size <= kMaxPageSize; page_size *= 2) {
      problem.page_size = page_size;
      ASSERT_EQ(without_pages(planned(problem)), base) << to_string(problem);
    }
  }
}

TEST(Plan, PaddedRowsAndIdleRequestsChangeNothingElse) {
  const PlanCase base = make_case(16, {1, 4, 2}, {5000, 77, 0}, 64);
  PlanCase padded = base;
  padded.limits.max_batch = 8;
  for (int i = 0; i < 5; ++i) {
    padded.q_len.push_back(0);
    padded.kv_len.push_back(i % 2 == 0 ? 0 : 4096);
  }
  ASSERT_THAT(padded, HasGoodPlan());
  EXPECT_EQ(planned(padded), planned(base));
}

// Bug list entry 1 (aiter#2106, aiter#2128): last piece shorter than the query, or a request shorter than it.
TEST(NamedBatch, TailShorterThanTheQuery) {
  for (const std::int32_t kv : {1, 2, 3, 4, 1025, 1026, 1027, 48 * 20 + 1, 48 * 20 + 2, 48 * 20 + 3}) {
    EXPECT_THAT(uniform_case(16, 4, 1, kv), HasGoodPlan());
    EXPECT_THAT(uniform_case(16, 4, 32, kv), HasGoodPlan());
  }
}

// 3: no pages and a last page of 1 token, as while a graph is captured. Planning must end, with a work a request that
// writes its zeros.
TEST(NamedBatch, NoPagesAtAll) {
  PlanCase problem = uniform_case(16, 1, 7, 0, 132, 64);
  problem.limits.split_limit = 4;
  ASSERT_THAT(problem, HasGoodPlan());
  EXPECT_EQ(planned(problem).header.num_works, 7);
}

// 7 (aiter#4711): pieces that the causal mask hides from an early row.
TEST(NamedBatch, PieceHiddenFromAnEarlyRow) {
  for (const std::int32_t kv : {256, 260, 264, 388, 452}) {
    for (std::int32_t q = 1; q <= 8; ++q) {
      for (const std::int32_t batch : {1, 2, 4, 8}) EXPECT_THAT(uniform_case(16, q, batch, kv), HasGoodPlan());
    }
  }
}

// 8 (aiter#3641): more splits allowed than there are steps.
TEST(NamedBatch, MoreSplitsThanSteps) {
  for (const std::int32_t kv : {1, 2, 21, 63, 64, 65}) {
    for (const std::int32_t limit : {0, 16, 32}) {
      PlanCase problem = uniform_case(16, 1, 3, kv);
      problem.limits.split_limit = limit;
      EXPECT_THAT(problem, HasGoodPlan());
    }
  }
}

// 9 (aiter#4117): a short request beside a long one must not get the long one's splits.
TEST(NamedBatch, ShortBesideLong) {
  PlanCase problem = make_case(16, {1, 1, 1, 1}, {8192, 1, 17, 64});
  problem.limits.split_limit = 16;
  ASSERT_THAT(problem, HasGoodPlan());
  const PlanBits plan = planned(problem);
  EXPECT_EQ(plan.header.num_reductions, 1);
  EXPECT_THAT(plan.header.max_splits, AllOf(Ge(8), Lt(17)));
}

// 15 (vllm#45227): a plan sized for one query token is not one for four.
TEST(NamedBatch, QueryLongerThanTheLimits) {
  PlanCase problem = make_case(16, {4}, {1000});
  ASSERT_THAT(problem, HasGoodPlan());
  problem.limits.max_q_len = 1;
  problem.limits.max_total_q = 1;
  const PlanBits plan = planned(problem);
  EXPECT_EQ(plan.header.error, PlanError::query);
  EXPECT_EQ(plan.header.error_request, 0);
  EXPECT_EQ(plan.header.num_works, 0);
  EXPECT_THAT(plan.works, IsEmpty());
}

// 16 (vllm#46997): the types decide the tile, and plan and kernel must agree on it.
TEST(NamedBatch, TypesDecideTheTile) {
  PlanCase problem = uniform_case(32, 4, 2, 5000);
  problem.limits.tile = {16, 64, 128, 32};
  const WorkspaceLayout bf16 = workspace_layout(problem.limits);
  const PlanBits bf16_plan = planned(problem);
  problem.limits.q_dtype = problem.limits.kv_dtype = DataType::e4m3fn;
  EXPECT_EQ(bf16.tile.rows, 64);
  EXPECT_EQ(bf16_plan.header.num_tiles, 4);
  EXPECT_EQ(workspace_layout(problem.limits).tile.rows, 128);
  EXPECT_EQ(planned(problem).header.num_tiles, 2);
  EXPECT_THAT(problem, HasGoodPlan());
}

// 18 (aiter#1606, vllm#41016): buffers sized for another batch or query length.
TEST(NamedBatch, BatchAroundTheNumberOfWorkers) {
  for (const std::int32_t batch : {255, 256, 257, 511, 512}) {
    for (std::int32_t q = 1; q <= 4; ++q) {
      EXPECT_THAT(uniform_case(128, q, batch, 1000), HasGoodPlan());
      EXPECT_THAT(uniform_case(16, q, batch, 33), HasGoodPlan());
    }
  }
}

// 19 (aiter#3855): 32 GiB at capture.
TEST(NamedBatch, WorkspaceStaysBelowOneGibibyte) {
  for (const TileLimits& tile : {kTileLimitsSm90, kTileLimitsGfx942, kTileLimitsGfx950}) {
    PlanLimits limits;
    limits.heads = 32;
    limits.max_batch = 512;
    limits.max_q_len = 4;
    limits.num_workers = 304;
    limits.tile = tile;
    EXPECT_LT(workspace_size(limits), std::size_t{1} << 30);
  }
}

// 20 (aiter#1352): per-batch arrays on the chip that a large batch overflows.
TEST(NamedBatch, LargeBatchesOfShortRequests) {
  for (const std::int32_t batch : {4096, 16384, 65536}) {
    PlanCase problem = uniform_case(16, 1, batch, 1);
    for (std::int32_t b = 0; b < batch; ++b) problem.kv_len[b] = 1 + b % 7;
    EXPECT_THAT(problem, HasGoodPlan());
  }
}

// Section 1.6 of the public planner's analysis: kv_len < q_len gave works with kv_end < kv_begin.
TEST(NamedBatch, RequestShorterThanItsQuery) {
  for (const std::int32_t heads : {16, 64, 128}) {
    for (std::int32_t q = 2; q <= 8; ++q) {
      for (std::int32_t kv = 0; kv < q; ++kv)
        EXPECT_THAT(make_case(heads, {q, 1, q}, {kv, 9000, kv}, 64), HasGoodPlan());
    }
  }
}

TEST(NamedBatch, LongestBatchDoesNotOverflow) {
  const PlanCase problem = uniform_case(128, 8, 4096, 131072, 304);
  ASSERT_THAT(problem, HasGoodPlan());
  EXPECT_THAT(planned(problem).header.total_cost, Ge(std::int64_t{16} * 4096 * 131064));
}

TEST(NamedBatch, EmptyBatch) {
  PlanCase problem = make_case(16, {}, {});
  problem.limits.max_batch = 4;
  EXPECT_THAT(problem, HasGoodPlan());
  EXPECT_EQ(planned(problem).header.num_works, 0);
}

TEST(Plan, OneRequestUsesManyWorkersAndManyRequestsAreNotSplit) {
  EXPECT_GT(planned(uniform_case(16, 1, 1, 65536, 132)).header.busy_workers, 66);
  EXPECT_EQ(planned(uniform_case(16, 1, 132, 4096, 132)).header.num_reductions, 0);
}

TEST(Plan, DearMergesMeanFewerSplits) {
  PlanCase problem = uniform_case(16, 1, 1, 16384, 132);
  problem.limits.cost.merge_per_split = 1;
  const std::int32_t cheap = planned(problem).header.max_splits;
  problem.limits.cost.merge_per_split = 100;
  const std::int32_t dear = planned(problem).header.max_splits;
  EXPECT_LT(dear, cheap);
  problem.limits.cost.merge = 1 << 20;
  EXPECT_EQ(planned(problem).header.max_splits, 1);
}

TEST(Plan, RefusesArraysBeyondTheLimits) {
  const PlanCase problem = make_case(16, {1, 1, 1}, {100, 200, 300}, 8, 16);
  const auto error_with = [&](auto&& change) {
    RaggedBatch batch(problem);
    change(batch);
    const GuardedPlan plan(workspace_layout(problem.limits));
    make_plan(plan_problem(problem.limits, batch.view(), problem.page_size), plan.view());
    EXPECT_THAT(plan.broken_guard(), IsEmpty());
    const PlanBits bits = bits_of(plan.view(), problem.limits.num_workers);
    EXPECT_THAT(bits.work_indptr, ::testing::Each(0));
    EXPECT_THAT(bits.starts, ::testing::Each(WorkerStart{}));
    return std::pair(bits.header.error, bits.header.error_request);
  };
  const auto is = [](PlanError error, std::int32_t request) { return ::testing::Pair(error, request); };
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.qo_indptr[2] = 0; }), is(PlanError::query, 1));
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.qo_indptr[3] = 11; }), is(PlanError::query, 2));
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.kv_indptr[2] = 3; }), is(PlanError::kv_length, 1));
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.kv_last_page_len[0] = 17; }), is(PlanError::kv_length, 0));
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.kv_last_page_len[2] = 0; }), is(PlanError::kv_length, 2));
  EXPECT_THAT(error_with([](RaggedBatch& b) { b.kv_indptr[3] = INT32_MAX; }), is(PlanError::kv_length, 2));
}

TEST(Plan, RefusesMoreRequestsThanTheLimits) {
  PlanCase problem = make_case(16, {1, 1, 1}, {100, 200, 300});
  problem.limits.max_batch = 2;
  const PlanHeader header = planned(problem).header;
  EXPECT_EQ(header.error, PlanError::batch);
  EXPECT_EQ(header.num_works, 0);
}

TEST(Describe, AddsUpThePlan) {
  const PlanCase problem = make_case(16, {1, 1}, {6400, 64}, 16);
  const RaggedBatch batch(problem);
  const GuardedPlan plan(workspace_layout(problem.limits));
  make_plan(plan_problem(problem.limits, batch.view(), problem.page_size), plan.view());
  const PlanSummary summary = describe(plan.view(), problem.limits);
  EXPECT_EQ(summary.kv_tokens, 6464);
  EXPECT_EQ(summary.kv_bytes, 6464 * 1152);
  EXPECT_EQ(summary.tiles, 2);
  EXPECT_EQ(summary.split_tiles, 1);
  EXPECT_EQ(summary.slots, summary.max_splits);
  EXPECT_EQ(summary.partial_bytes, 2LL * summary.slots * 16 * 513 * 4);
  EXPECT_EQ(summary.makespan, plan.view().header->makespan);
  EXPECT_THAT(summary.imbalance, AllOf(Ge(1.0), Lt(1.3)));
}

TEST(Workspace, RegionsAreAlignedAndDoNotOverlap) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const WorkspaceLayout layout = workspace_layout(random_case(seed).limits);
    std::size_t end = 0;
    for (const WorkspaceRegion& region :
         {layout.header, layout.work_indptr, layout.starts, layout.works, layout.reductions, layout.slot_reduction,
          layout.arrivals, layout.partial_lse, layout.partial_out, layout.tile_row_tile, layout.tile_request,
          layout.line, layout.cuts, layout.worker_slots}) {
      ASSERT_EQ(region.offset % 256, 0U);
      ASSERT_GE(region.offset, end);
      end = region.offset + region.bytes;
    }
    ASSERT_GE(layout.bytes, end);
  }
}

TEST(Tile, HoldsTheRowsOrIsTheLargest) {
  for (std::int32_t heads = 1; heads <= kMaxHeads; ++heads) {
    for (std::int32_t q = 1; q <= kMaxQueryLength; ++q) {
      const TileShape tile = tile_shape(DataType::bf16, DataType::bf16, heads, q, kTileLimitsGfx950);
      EXPECT_TRUE(tile.rows == kTileLimitsGfx950.max_rows || tile.rows >= heads * q);
      EXPECT_TRUE(tile.rows == kTileLimitsGfx950.min_rows || tile.rows / 2 < heads * q);
    }
  }
}

}  // namespace
}  // namespace mla::test
