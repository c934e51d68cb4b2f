#include "harness/inputs/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mla::harness {
namespace {

using ::testing::ElementsAre;

// From kat_vectors of the Random123 distribution: philox4x32, 10 rounds, counter and key zero.
TEST(Random, IsPhilox4x32With10Rounds) {
  EXPECT_THAT(Random(0).bits(Stream::query, 0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(Random, EveryPartOfTheCounterMatters) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;
  const Random random(1);
  std::set<std::array<std::uint32_t, 4>> seen;
  for (const Stream stream : {Stream::query, Stream::key_value, Stream::direction, Stream::pages}) {
    for (const std::uint32_t request : {0U, 1U, 65536U}) {
      for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, kFar, kFar + 1}) {
        for (const std::uint16_t block : {0, 1, 71}) seen.insert(random.bits(stream, request, position, block));
      }
    }
  }
  EXPECT_EQ(seen.size(), 4U * 3 * 4 * 3);
  EXPECT_NE(Random(kFar).bits(Stream::query, 0, 0, 0), Random(0).bits(Stream::query, 0, 0, 0));
}

TEST(Random, RowHoldsTheBitsOfItsBlocksInOrder) {
  const Random random(5);
  Random::Row row;
  random.row(Stream::key_value, 3, 7, row);
  for (std::size_t dim = 0; dim < row.size(); ++dim) {
    const auto words = random.bits(Stream::key_value, 3, 7, static_cast<std::uint16_t>(dim / 8));
    ASSERT_EQ(row[dim], static_cast<std::uint16_t>(words[dim % 8 / 2] >> (16 * (dim % 2)))) << dim;
  }
}

TEST(Random, BelowReachesEveryNumberAndNoOther) {
  const Random random(2);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 200; ++i) seen.insert(random.below(7, Stream::pages, i));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

class NormalQuantiles : public ::testing::Test {
 protected:
  [[nodiscard]] double moment(int power) const {
    return std::accumulate(table_.begin(), table_.end(), 0.0,
                           [&](double sum, float x) { return sum + std::pow(static_cast<double>(x), power); }) /
           static_cast<double>(table_.size());
  }
  std::span<const float> table_ = normal_quantiles();
};

TEST_F(NormalQuantiles, HasOneValueForEvery16BitNumber) {
  EXPECT_EQ(table_.size(), 65536U);
}

TEST_F(NormalQuantiles, IsAntisymmetricAndIncreasing) {
  EXPECT_TRUE(std::is_sorted(table_.begin(), table_.end(), std::less_equal<>()));
  for (std::size_t i = 0; i < table_.size(); ++i) ASSERT_EQ(table_[i], -table_[table_.size() - 1 - i]);
}

// Fourth moment: cutting a normal at 4.17 standard deviations takes away 2.2e-2 of 3 at most.
TEST_F(NormalQuantiles, HasTheMomentsOfANormal) {
  EXPECT_NEAR(moment(2), 1, 1e-6);
  EXPECT_NEAR(moment(4), 3, 2.2e-2);
}

// The fraction of bins below x is the distribution function at x.
TEST_F(NormalQuantiles, HasTheDistributionOfANormal) {
  for (const double x : {-3.0, -1.5, -0.5, 0.0, 0.1, 1.0, 2.0, 4.0}) {
    const auto below = std::lower_bound(table_.begin(), table_.end(), static_cast<float>(x)) - table_.begin();
    EXPECT_NEAR(static_cast<double>(below) / 65536, 0.5 * std::erfc(-x / std::sqrt(2.0)), 2e-5) << x;
  }
}

}  // namespace
}  // namespace mla::harness
