#include "harness/suite/pairwise.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace mla::harness {
namespace {

using PairKey = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

std::set<PairKey> pairs_in(const std::vector<AxisRow>& rows) {
  std::set<PairKey> pairs;
  for (const AxisRow& row : rows) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) pairs.insert({a, row[a], b, row[b]});
    }
  }
  return pairs;
}

bool any(const AxisRow&) {
  return true;
}

class AllPairs : public testing::TestWithParam<std::vector<std::size_t>> {};

TEST_P(AllPairs, HoldsEveryPairInFewRows) {
  const std::vector<std::size_t>& sizes = GetParam();
  const std::vector<AxisRow> rows = all_pairs(sizes, any);
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) pairs += sizes[a] * sizes[b];
  }
  EXPECT_EQ(pairs_in(rows).size(), pairs);
  for (const AxisRow& row : rows) {
    ASSERT_EQ(row.size(), sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) EXPECT_LT(row[axis], sizes[axis]);
  }
  // No covering array has fewer rows than the product of its two largest axes; greedy ones stay within a small factor.
  std::vector<std::size_t> largest = sizes;
  std::sort(largest.rbegin(), largest.rend());
  EXPECT_LE(rows.size(), 2 * largest[0] * largest[1] + 8);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AllPairs,
                         testing::Values(std::vector<std::size_t>{2, 2}, std::vector<std::size_t>{2, 2, 2, 2, 2, 2},
                                         std::vector<std::size_t>{1, 5, 1}, std::vector<std::size_t>{7, 3, 5},
                                         std::vector<std::size_t>{6, 5, 11, 19, 3, 3, 3}));

TEST(AllPairs, IsTheSameEveryTime) {
  const std::vector<std::size_t> sizes = {4, 3, 5, 2};
  EXPECT_EQ(all_pairs(sizes, any), all_pairs(sizes, any));
}

// A constraint takes away exactly the pairs that no allowed row can hold.
TEST(AllPairs, HoldsEveryPairThatAnAllowedRowCanHold) {
  const std::vector<std::size_t> sizes = {6, 7, 3, 4};
  const auto allowed = [](const AxisRow& row) { return row[0] * row[1] < 12 + 10 * row[2] && row[3] != row[2]; };
  const std::vector<AxisRow> rows = all_pairs(sizes, allowed);
  EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), allowed));
  EXPECT_EQ(pairs_in(rows), pairs_in(full_product(sizes, allowed)));
  EXPECT_LT(rows.size(), full_product(sizes, allowed).size() / 3);
}

TEST(AllPairs, OfOneAxisIsThatAxis) {
  EXPECT_EQ(all_pairs({3}, any), (std::vector<AxisRow>{{0}, {1}, {2}}));
}

TEST(AllPairs, IsEmptyWhereNothingIsAllowed) {
  EXPECT_TRUE(all_pairs({3, 4}, [](const AxisRow&) { return false; }).empty());
}

TEST(FullProduct, CountsTheLastAxisFastest) {
  EXPECT_EQ(full_product({2, 3}, any), (std::vector<AxisRow>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

}  // namespace
}  // namespace mla::harness
