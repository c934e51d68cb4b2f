// The workgroup's planner against the host's, bit by bit. Lanes are fibres that run in a seeded random order between
// barriers, each up to the barrier at a time: a phase that needs an earlier one's result without a barrier in between
// reads poison or a stale value in some order.
#include "kernels/plan/lanes.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/plan/planner.hpp"
#include "kernels/runtime/host/workgroup.hpp"
#include "suites/plan/plan_case.hpp"
#include "suites/plan/random_case.hpp"

namespace mla::test {
namespace {

// The lanes of one workgroup on one thread. Each call of `run` is one launch.
class FibreGroup {
 public:
  static std::int32_t thread() { return host::Workgroup::here().lane(); }
  static void barrier() {
    ++current_->barriers_[thread()];
    host::Workgroup::here().barrier();
  }
  // All lanes exchange, in whatever order they come.
  static std::int32_t shuffle_xor(std::int32_t value, std::int32_t mask) {
    FibreGroup& group = *current_;
    group.exchanged_[thread()] = value;
    barrier();
    const std::int32_t other = group.exchanged_[thread() ^ mask];
    barrier();
    return other;
  }

  template <class Body>
  static void run(std::int32_t lanes, std::uint64_t seed, const Body& body) {
    FibreGroup group(lanes);
    current_ = &group;
    const host::Memory unchecked;
    // One wave: any lane may be the next one.
    host::Workgroup({.lanes = lanes, .wave_width = lanes, .shared_bytes = 0}, unchecked)
        .run(
            0, seed, [](const void* lane) { (*static_cast<const Body*>(lane))(); }, &body);
    current_ = nullptr;
    // A barrier that some lanes skip would hang a workgroup.
    EXPECT_THAT(group.barriers_, ::testing::Each(group.barriers_.front()));
  }

 private:
  explicit FibreGroup(std::int32_t lanes) : barriers_(lanes), exchanged_(lanes) {}

  static thread_local FibreGroup* current_;

  std::vector<int> barriers_;  // that a lane has reached
  std::vector<std::int32_t> exchanged_;
};

thread_local FibreGroup* FibreGroup::current_ = nullptr;

// Shared memory begins as whatever the workgroup before left there.
template <class T>
class Poisoned {
  static_assert(std::is_trivially_default_constructible_v<T>, "shared memory is not constructed");

 public:
  Poisoned() : value_(std::make_unique_for_overwrite<T>()) {
    std::memset(static_cast<void*>(value_.get()), 0xa5, sizeof(T));
  }
  [[nodiscard]] T& operator*() { return *value_; }

 private:
  std::unique_ptr<T> value_;
};

template <std::int32_t kLanes>
PlanBits planned_by_group(const PlanCase& problem, std::uint64_t seed) {
  using Lanes = plan::GroupLanes<FibreGroup, kLanes>;
  const RaggedBatch batch(problem);
  const GuardedPlan plan(workspace_layout(problem.limits));
  const PlanProblem arguments = plan_problem(problem.limits, batch.view(), problem.page_size);
  Poisoned<typename Lanes::Shared> shared;
  Poisoned<plan::State> state;
  FibreGroup::run(kLanes, seed, [&] {
    Lanes lanes(*shared);
    plan::Planner<Lanes>(arguments, plan.view(), lanes, *state).run();
  });
  EXPECT_EQ(plan.broken_guard(), "");
  return bits_of(plan.view(), problem.limits.num_workers);
}

PlanBits planned_by_host(const PlanCase& problem) {
  const RaggedBatch batch(problem);
  const GuardedPlan plan(workspace_layout(problem.limits));
  make_plan(plan_problem(problem.limits, batch.view(), problem.page_size), plan.view());
  return bits_of(plan.view(), problem.limits.num_workers);
}

template <class Lanes>
class GroupPlan : public ::testing::Test {};

template <std::int32_t kLanes, int kCases>
struct Group {
  static constexpr std::int32_t lanes = kLanes;
  static constexpr int cases = kCases;
};
using Groups = ::testing::Types<Group<16, 300>, Group<64, 200>, Group<112, 150>, Group<256, 60>, Group<1024, 15>>;
TYPED_TEST_SUITE(GroupPlan, Groups);

TYPED_TEST(GroupPlan, HasTheBitsOfTheHostPlan) {
  for (int i = 0; i < TypeParam::cases; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) * 7919;
    const PlanCase problem = random_case(seed);
    ASSERT_EQ(planned_by_group<TypeParam::lanes>(problem, seed), planned_by_host(problem)) << to_string(problem);
  }
}

TYPED_TEST(GroupPlan, RefusesWhatTheHostPlanRefuses) {
  PlanCase problem = random_case(5);
  problem.limits.max_batch = 3;
  problem.limits.max_total_q = 0;
  problem.limits.max_q_len = 2;
  problem.q_len = {2, 3, 9};
  problem.kv_len = {100, 200, 300};
  const PlanBits plan = planned_by_group<TypeParam::lanes>(problem, 1);
  EXPECT_EQ(plan, planned_by_host(problem));
  EXPECT_EQ(plan.header.error, PlanError::query);
  EXPECT_EQ(plan.header.error_request, 1);
}

TEST(GroupLanes, ScanOfAnyLengthIsTheRunningSum) {
  constexpr std::int32_t kLanes = 64;
  using Lanes = plan::GroupLanes<FibreGroup, kLanes>;
  for (const std::int32_t count : {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
    std::vector<std::int64_t> found(count, -1);
    std::vector<std::int64_t> totals(kLanes, -1);
    Poisoned<Lanes::Shared> shared;
    FibreGroup::run(kLanes, 3, [&] {
      Lanes lanes(*shared);
      const auto value = [](std::int32_t i) {
        plan::Totals mine{};
        mine.line = i + 1;
        mine.largest = i == 0 ? 1000 : i;
        return mine;
      };
      const plan::Totals total =
          lanes.scan(count, value, [&](std::int32_t i, const plan::Totals& before, const plan::Totals& all) {
            found[i] = before.line;
            ASSERT_EQ(before.largest, i == 0 ? 0 : 1000);
            ASSERT_EQ(all.line, std::int64_t{count} * (count + 1) / 2);
          });
      totals[FibreGroup::thread()] = total.line;
    });
    for (std::int32_t i = 0; i < count; ++i) ASSERT_EQ(found[i], std::int64_t{i} * (i + 1) / 2);
    EXPECT_THAT(totals, ::testing::Each(std::int64_t{count} * (count + 1) / 2));
  }
}

TEST(GroupLanes, MaximaOfAnyShapeAreThoseOfTheRows) {
  constexpr std::int32_t kLanes = 64;
  using Lanes = plan::GroupLanes<FibreGroup, kLanes>;
  const auto value = [](std::int32_t r, std::int32_t i) {
    return plan::Maxima{(r * 37 + i * 101) % 1009, i % (r + 2)};
  };
  for (const std::int32_t rows : {1, 2, 3, 31, 32, 33, 64, 65, 200}) {
    for (const std::int32_t width : {0, 1, 2, 5, 63, 64, 300}) {
      std::vector<plan::Maxima> expected(rows);
      plan::SerialLanes().maxima(rows, width, value, expected.data());
      std::vector<plan::Maxima> found(rows, plan::Maxima{-1, -1});
      Poisoned<Lanes::Shared> shared;
      FibreGroup::run(kLanes, 3, [&] {
        Lanes lanes(*shared);
        lanes.maxima(rows, width, value, found.data());
      });
      for (std::int32_t r = 0; r < rows; ++r) {
        ASSERT_EQ(found[r].first, expected[r].first) << rows << "x" << width;
        ASSERT_EQ(found[r].second, expected[r].second) << rows << "x" << width;
      }
    }
  }
}

}  // namespace
}  // namespace mla::test
