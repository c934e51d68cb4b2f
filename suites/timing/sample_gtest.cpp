#include "harness/timing/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "harness/core/error.hpp"

namespace mla::harness {
namespace {

using testing::Each;
using testing::Ge;

void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TEST(Sample, StopsAtTheLeastNumberWhenAnyPrecisionWillDo) {
  const SampleResult result = sample([] { sleep_ms(1); }, {.warmup_s = 0, .min_samples = 7, .target = 1e9});
  EXPECT_EQ(result.samples_ns.size(), 7U);
  EXPECT_EQ(result.stop, StopReason::precise);
}

TEST(Sample, StopsAtTheMostSamplesWhenNoPrecisionWillDo) {
  const SampleResult result = sample([] {}, {.warmup_s = 0, .budget_s = 1e9, .max_samples = 30, .target = 0});
  EXPECT_EQ(result.samples_ns.size(), 30U);
  EXPECT_EQ(result.stop, StopReason::max_samples);
}

TEST(Sample, StopsWhenTheBudgetIsUsedUpButNotBeforeTheLeastNumber) {
  const SampleResult result =
      sample([] { sleep_ms(1); }, {.warmup_s = 0, .budget_s = 0, .min_samples = 4, .target = 0});
  EXPECT_EQ(result.samples_ns.size(), 4U);
  EXPECT_EQ(result.stop, StopReason::budget);
}

TEST(Sample, WarmsUpForAtLeastTheTimeAskedFor) {
  using Clock = std::chrono::steady_clock;
  int launches = 0;
  Clock::time_point last_launch;
  const Clock::time_point begin = Clock::now();
  const SampleResult result = sample(
      [&] {
        last_launch = Clock::now();
        ++launches;
        sleep_ms(2);
      },
      {.warmup_s = 0.02, .budget_s = 0, .min_samples = 1});
  EXPECT_EQ(launches, result.warmup_launches + 1);
  // The last launch is the sample; a loaded machine may have fitted a single launch into the warm-up before it.
  EXPECT_GE(std::chrono::duration<double>(last_launch - begin).count(), 0.02);
}

TEST(Sample, LaunchesOnceBeforeTheFirstSampleEvenWithoutWarmUp) {
  EXPECT_EQ(sample([] {}, {.warmup_s = 0, .budget_s = 0, .min_samples = 1}).warmup_launches, 1);
}

TEST(Sample, HooksRunAroundLaunchesAndAreNotTimed) {
  std::string order;
  const SampleHooks hooks{.between =
                              [&] {
                                order += 'b';
                                sleep_ms(20);
                              },
                          .warmed_up =
                              [&] {
                                order += 'w';
                                sleep_ms(20);
                              }};
  const SampleResult result =
      sample([&] { order += 'L'; }, {.warmup_s = 0, .budget_s = 0, .min_samples = 2, .target = 0}, hooks);
  EXPECT_EQ(order, "bLwbLbL");
  // Sleeping 20 ms can take longer but never less, so that a sample which included it could not be below.
  EXPECT_LT(*std::min_element(result.samples_ns.begin(), result.samples_ns.end()), 20e6);
}

TEST(Sample, SamplesAreTheLaunchTimesInNanoseconds) {
  const SampleResult result = sample([] { sleep_ms(3); }, {.warmup_s = 0, .budget_s = 0, .min_samples = 3});
  EXPECT_THAT(result.samples_ns, Each(Ge(3e6)));
  EXPECT_GE(result.median_ns, 3e6);
  EXPECT_LE(result.ci95_low_ns, result.median_ns);
  EXPECT_GE(result.ci95_high_ns, result.median_ns);
}

TEST(Sample, RefusesConfigurationsOutOfRange) {
  const auto refused = [](const SampleConfig& config) { EXPECT_THROW((void)sample([] {}, config), UsageError); };
  refused({.warmup_s = -1});
  refused({.warmup_s = std::numeric_limits<double>::quiet_NaN()});
  refused({.budget_s = -1});
  refused({.min_samples = 0});
  refused({.min_samples = 10, .max_samples = 9});
  refused({.target = -0.1});
}

TEST(Sample, AnExceptionOfTheLaunchReachesTheCaller) {
  EXPECT_THROW((void)sample([] { throw std::runtime_error("launch"); }), std::runtime_error);
}

}  // namespace
}  // namespace mla::harness
