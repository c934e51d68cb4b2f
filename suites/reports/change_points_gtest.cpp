#include "reports/statistics/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/statistics/median.hpp"

namespace mla::suites {
namespace {

using reports::statistics::median;
using reports::statistics::Segment;
using reports::statistics::segments;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A nightly series of logarithms: 0.8 % from run to run, a slow drift of 0.6 %, and 2 % of runs 10 to 50 % slower.
std::vector<double> nightly(std::size_t runs, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const double memory = 0.9;
  double drift = 0.006 * normal(random);
  std::vector<double> series;
  for (std::size_t i = 0; i < runs; ++i) {
    drift = memory * drift + 0.006 * std::sqrt(1 - memory * memory) * normal(random);
    const double outlier = uniform(random) < 0.02 ? std::log(1.1 + 0.4 * uniform(random)) : 0;
    series.push_back(13.5 + drift + 0.008 * normal(random) + outlier);
  }
  return series;
}

void add_step(std::vector<double>& series, std::size_t at, double ratio) {
  for (std::size_t i = at; i < series.size(); ++i) series[i] += std::log(ratio);
}

TEST(ChangePoints, NoiseHasNone) {
  std::mt19937_64 random(1);
  for (const std::size_t runs : {3U, 10U, 30U, 100U, 365U}) {
    int stepped = 0;
    for (int series = 0; series < 200; ++series) stepped += segments(nightly(runs, random)).size() > 1 ? 1 : 0;
    // The drift of some series really moves by 2 % for a while: at most one in a hundred.
    EXPECT_LE(stepped, 2) << runs << " runs";
  }
}

TEST(ChangePoints, StepsAreFoundWhereTheyAre) {
  std::mt19937_64 random(2);
  for (const double ratio : {1.05, 0.95, 1.10, 0.80}) {
    int found = 0;
    for (int series = 0; series < 100; ++series) {
      std::vector<double> values = nightly(120, random);
      add_step(values, 80, ratio);
      const auto parts = segments(values);
      const bool there = parts.size() == 2 && parts[1].first >= 77 && parts[1].first <= 83 &&
                         std::abs(parts[1].level - parts[0].level - std::log(ratio)) < 0.012;
      found += there ? 1 : 0;
    }
    EXPECT_GE(found, 95) << ratio;
  }
}

TEST(ChangePoints, TwoStepsAndBackAreTwo) {
  std::mt19937_64 random(3);
  int found = 0;
  for (int series = 0; series < 100; ++series) {
    std::vector<double> values = nightly(200, random);
    add_step(values, 60, 1.06);
    add_step(values, 120, 1 / 1.06);
    found += segments(values).size() == 3 ? 1 : 0;
  }
  EXPECT_GE(found, 95);
}

TEST(ChangePoints, ASingleValueIsNeverAStep) {
  std::mt19937_64 random(4);
  for (const std::size_t at : {0U, 1U, 20U, 38U, 39U}) {
    std::vector<double> values(40);
    std::normal_distribution<double> noise(0, 0.005);
    for (double& value : values) value = noise(random);
    values[at] += 0.7;
    EXPECT_THAT(segments(values), SizeIs(1)) << at;
  }
}

TEST(ChangePoints, TwoConsecutiveValuesAreEnough) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.005);
  std::vector<double> values(60);
  for (double& value : values) value = noise(random);
  values[58] += 0.1;
  values[59] += 0.1;
  const auto parts = segments(values);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[1].first, 58U);
}

TEST(ChangePoints, BelowTheSmallestStepIsNone) {
  std::vector<double> values(100, 1.0);
  add_step(values, 50, 1.015);
  EXPECT_THAT(segments(values), SizeIs(1));
  EXPECT_THAT(segments(values, {.smallest_step = 0.01}), SizeIs(2));
}

TEST(ChangePoints, ShiftedSeriesHasTheSameSteps) {
  std::mt19937_64 random(6);
  std::vector<double> values = nightly(90, random);
  add_step(values, 40, 1.08);
  std::vector<double> shifted = values;
  for (double& value : shifted) value -= 9;
  const auto a = segments(values);
  const auto b = segments(shifted);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].first, b[i].first);
}

TEST(ChangePoints, FewOrEqualValues) {
  EXPECT_THAT(segments({}), IsEmpty());
  EXPECT_THAT(segments(std::vector{4.0}), SizeIs(1));
  EXPECT_THAT(segments(std::vector{4.0, 5.0}), SizeIs(1));
  EXPECT_THAT(segments(std::vector<double>(50, 4.0)), SizeIs(1));
}

// --- the dynamic programme against all partitions -------------------------------------------------------------------

/// Least cost of one segment: over all choices of its outliers, squares around the mean of the others.
double segment_cost(const std::vector<double>& values, std::size_t first, std::size_t last) {
  const std::size_t count = last - first;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t inliers = 0; inliers < std::size_t{1} << count; ++inliers) {
    double sum = 0, squares = 0, n = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if ((inliers >> i & 1U) == 0) continue;
      sum += values[first + i];
      squares += values[first + i] * values[first + i];
      n += 1;
    }
    const double cost = (n > 0 ? squares - sum * sum / n : 0) + 16 * (static_cast<double>(count) - n);
    least = std::min(least, cost);
  }
  return least;
}

/// Cost of a partition; bit i of `changes`: a segment begins at i + 1.
double partition_cost(const std::vector<double>& values, std::size_t changes, double penalty) {
  double cost = 0;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= values.size(); ++i) {
    if (i < values.size() && (changes >> (i - 1) & 1U) == 0) continue;
    cost += segment_cost(values, first, i) + (i < values.size() ? penalty : 0);
    first = i;
  }
  return cost;
}

TEST(ChangePoints, AreTheCheapestOfAllPartitions) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> level(-1, 1);
  int checked = 0;
  int changed = 0;
  while (checked < 150) {
    std::vector<double> values;
    double base = 0;
    for (int i = 0; i < 8; ++i) {
      if (i % 3 == 0) base = 7.0 * level(random);
      values.push_back(base + 0.7 * normal(random));
    }
    // The unit is the noise floor as long as the values scatter less.
    std::vector<double> differences;
    for (std::size_t i = 1; i < values.size(); ++i) differences.push_back(std::abs(values[i] - values[i - 1]));
    if (1.4826 * median(differences) / std::sqrt(2.0) > 0.99) continue;
    ++checked;
    const auto parts = segments(values, {.smallest_step = 0, .noise_floor = 1, .sureness = 0});
    changed += parts.size() > 1 ? 1 : 0;
    std::size_t chosen = 0;
    for (const Segment& part : parts) chosen |= part.first > 0 ? std::size_t{1} << (part.first - 1) : 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t changes = 0; changes < 128; ++changes) {
      least = std::min(least, partition_cost(values, changes, 17));
    }
    EXPECT_NEAR(partition_cost(values, chosen, 17), least, 1e-9);
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace mla::suites
