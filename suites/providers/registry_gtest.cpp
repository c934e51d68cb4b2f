#include "harness/providers/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/core/error.hpp"
#include "harness/providers/worker_pool.hpp"

namespace mla::harness {
namespace {

using testing::Contains;
using testing::Not;

TEST(Registry, ListsEigenFirstAndNoNameTwice) {
  const ProviderList providers = builtin_providers();
  ASSERT_FALSE(providers.empty());
  EXPECT_EQ(providers.front()->name(), "eigen");
  std::set<std::string_view> names;
  for (const auto& provider : providers) EXPECT_TRUE(names.insert(provider->name()).second) << provider->name();
}

TEST(Registry, EveryKnownProviderIsEitherBuiltInOrAbsentWithAReason) {
  std::set<std::string> names;
  for (const auto& provider : builtin_providers()) names.emplace(provider->name());
  for (const AbsentProvider& absent : absent_providers()) {
    EXPECT_THAT(names, Not(Contains(absent.name)));
    EXPECT_FALSE(absent.reason.empty());
    names.insert(absent.name);
  }
  EXPECT_THAT(names, Contains("torch"));
}

TEST(SkipReason, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int reason = 0; reason <= static_cast<int>(SkipReason::filtered); ++reason) {
    EXPECT_TRUE(names.insert(name_of(static_cast<SkipReason>(reason))).second);
  }
  EXPECT_THAT(names, Not(Contains("?")));
}

TEST(WorkerPool, CallsEveryWorkerOncePerRun) {
  WorkerPool pool(3);
  std::array<int, 3> calls{};
  for (int run = 0; run < 100; ++run) pool.run([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
  EXPECT_THAT(calls, testing::Each(100));
}

TEST(WorkerPool, RefusesAnEmptyTeam) {
  EXPECT_THROW(WorkerPool(0), UsageError);
}

}  // namespace
}  // namespace mla::harness
