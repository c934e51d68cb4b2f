#include "harness/inputs/page_table.hpp"

#include <algorithm>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mla::harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;

constexpr std::int64_t kPageBytes = 64 * 1152;

PagePool ordinary(std::int64_t pages) {
  return {pages, kPageBytes, false};
}
PagePool sparse(std::int64_t pages) {
  return {pages, kPageBytes, true};
}

struct Choice {
  PagePool pool;
  std::int64_t count;
};

std::ostream& operator<<(std::ostream& out, const Choice& choice) {
  return out << choice.count << "_of_" << choice.pool.pages << (choice.pool.sparse ? "_sparse" : "");
}

class ChoosePages : public ::testing::TestWithParam<Choice> {};

TEST_P(ChoosePages, AreDistinctInRangeAndNeverPageZero) {
  const auto& [pool, count] = GetParam();
  const auto pages = choose_pages(pool, count, 3);
  EXPECT_EQ(std::ssize(pages), count);
  EXPECT_EQ(std::set(pages.begin(), pages.end()).size(), pages.size());
  EXPECT_THAT(pages, Each(AllOf(Gt(0), Lt(pool.pages))));
}

INSTANTIATE_TEST_SUITE_P(Pools, ChoosePages,
                         ::testing::Values(Choice{ordinary(1), 0}, Choice{ordinary(2), 1}, Choice{ordinary(100), 99},
                                           Choice{ordinary(1000), 10}, Choice{sparse(100'000), 0},
                                           Choice{sparse(100'000), 1}, Choice{sparse(100'000), 5},
                                           Choice{sparse(5000), 4999}, Choice{sparse(2'147'480'000), 1000}));

TEST(ChoosePages, DependOnTheSeedAlone) {
  EXPECT_EQ(choose_pages(ordinary(100), 50, 1), choose_pages(ordinary(100), 50, 1));
  EXPECT_NE(choose_pages(ordinary(100), 50, 1), choose_pages(ordinary(100), 50, 2));
  EXPECT_NE(choose_pages(sparse(100'000), 50, 1), choose_pages(sparse(100'000), 50, 2));
}

// A kernel that ignores the page table must not pass: hardly any page may stay at its place.
TEST(ChoosePages, ArePermuted) {
  const auto pages = choose_pages(ordinary(1001), 1000, 4);
  int in_place = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) in_place += pages[i] == static_cast<std::int32_t>(i) + 1 ? 1 : 0;
  EXPECT_LT(in_place, 10);  // of a random permutation: Poisson with mean 1
}

TEST(ChoosePages, OfASparsePoolReachTheEdgesOfNarrowTypes) {
  const PagePool pool = sparse(20'000'000);
  const auto pages = choose_pages(pool, 64, 5);
  for (const std::int64_t edge : {pool.pages - 1, (std::int64_t{1} << 31) / kPageBytes,
                                  (std::int64_t{1} << 32) / kPageBytes, std::int64_t{(1 << 24) + 1}}) {
    EXPECT_THAT(pages, Contains(edge));
  }
  EXPECT_THAT(choose_pages(pool, 1, 5), ElementsAre(pool.pages - 1));
}

TEST(UnreferencedPages, OfAnOrdinaryPoolAreAllOthers) {
  EXPECT_THAT(unreferenced_pages(ordinary(6), std::vector<std::int32_t>{4, 1}), ElementsAre(0, 2, 3, 5));
}

TEST(UnreferencedPages, OfASparsePoolAreNeighboursAndPageZero) {
  EXPECT_THAT(unreferenced_pages(sparse(1000), std::vector<std::int32_t>{500, 501, 999}),
              ElementsAre(0, 499, 502, 998));
  EXPECT_THAT(unreferenced_pages(sparse(1000), {}), ElementsAre(0));
}

}  // namespace
}  // namespace mla::harness
