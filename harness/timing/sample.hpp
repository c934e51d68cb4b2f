// Repeats a launch until its median is known well enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace mla::harness {

/// When to stop. The defaults are those of a sweep on a CPU; a nightly run gives more.
struct SampleConfig {
  double warmup_s = 0.1;  // launches before the first sample take at least this long; one launch at least
  double budget_s = 1;    // no further sample is begun after this time, once there are min_samples
  int min_samples = 5;
  int max_samples = 200;
  double target = 0.005;  // stop when the interval's half-width is below this part of the median
};

enum class StopReason : std::uint8_t {
  precise,      // the target was reached
  budget,       // the time was used up
  max_samples,  // the number of samples was
};

[[nodiscard]] std::string_view name_of(StopReason reason);

/// All samples of one process launch, in the order in which they were taken: nothing is discarded.
struct SampleResult {
  std::vector<double> samples_ns;
  double median_ns = 0;
  double ci95_low_ns = 0;  // see median_with_ci
  double ci95_high_ns = 0;
  StopReason stop = StopReason::precise;
  int warmup_launches = 0;
};

/// What is done outside the timed parts; either may be empty.
struct SampleHooks {
  std::function<void()> between;    // before each launch, warm-up included: puts the caches into the state wanted
  std::function<void()> warmed_up;  // once, before the first sample
};

/// Times `launch`, which must return only when its work is done. Throws UsageError on a configuration out of range.
[[nodiscard]] SampleResult sample(const std::function<void()>& launch, const SampleConfig& config = {},
                                  const SampleHooks& hooks = {});

/// The same for launches that time themselves, by a device's own clock for example: `timed_launch` returns nanoseconds.
[[nodiscard]] SampleResult sample_timed(const std::function<double()>& timed_launch, const SampleConfig& config = {},
                                        const SampleHooks& hooks = {});

}  // namespace mla::harness
