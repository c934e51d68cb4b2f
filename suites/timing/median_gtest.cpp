#include "harness/timing/median.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "harness/core/error.hpp"

namespace mla::harness {
namespace {

using Values = std::vector<double>;

Values one_to(int n) {
  Values values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(MedianWithCi, MedianOfAnOddNumber) {
  EXPECT_DOUBLE_EQ(median_with_ci(Values{10, 2, 1, 5, 10}).median, 5);
}
TEST(MedianWithCi, MedianOfAnEvenNumber) {
  EXPECT_DOUBLE_EQ(median_with_ci(Values{4, 1, 3, 2}).median, 2.5);
}
TEST(MedianWithCi, OneValue) {
  EXPECT_DOUBLE_EQ(median_with_ci(Values{7}).high, 7);
}
TEST(MedianWithCi, FewValuesGiveTheWholeRange) {
  EXPECT_DOUBLE_EQ(median_with_ci(Values{3, 1, 2, 9, 4}).low, 1);
}
TEST(MedianWithCi, LowRankOf100) {
  EXPECT_DOUBLE_EQ(median_with_ci(one_to(100)).low, 40);
}  // 50 - 9.8
TEST(MedianWithCi, HighRankOf100) {
  EXPECT_DOUBLE_EQ(median_with_ci(one_to(100)).high, 61);
}  // 50 + 9.8 + 1
TEST(MedianWithCi, HalfWidth) {
  EXPECT_DOUBLE_EQ(median_with_ci(one_to(100)).relative_half_width(), 10.5 / 50.5);
}
TEST(MedianWithCi, HalfWidthOfZeros) {
  EXPECT_EQ(median_with_ci(Values{0, 0}).relative_half_width(), 0);
}
TEST(MedianWithCi, EmptySampleIsRefused) {
  EXPECT_THROW((void)median_with_ci({}), UsageError);
}

TEST(MedianWithCi, CoversTheTrueMedianInAtLeast95Percent) {
  std::mt19937 generator(1);
  std::exponential_distribution<double> draw(1);  // skewed, like times
  const double true_median = std::log(2.0);
  for (const int n : {10, 20, 50, 200}) {
    int covered = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      Values values(static_cast<std::size_t>(n));
      for (double& value : values) value = draw(generator);
      const MedianInterval interval = median_with_ci(values);
      covered += interval.low <= true_median && true_median <= interval.high ? 1 : 0;
    }
    // Three standard deviations of 4000 trials are 1 %.
    EXPECT_GE(covered, 0.94 * kTrials) << "n = " << n;
    EXPECT_LE(covered, 0.995 * kTrials) << "n = " << n;
  }
}

}  // namespace
}  // namespace mla::harness
