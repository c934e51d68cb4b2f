#include "harness/timing/sample.hpp"

#include <chrono>
#include <string>

#include "harness/core/error.hpp"
#include "harness/timing/median.hpp"

namespace mla::harness {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(const SampleConfig& config) {
  const auto refuse = [](std::string_view field, double value, std::string_view rule) {
    throw UsageError(field, fmt::format("{}", value), rule);
  };
  // Negated, so that a NaN is refused too.
  if (!(config.warmup_s >= 0)) refuse("warmup_s", config.warmup_s, "must be at least 0");
  if (!(config.budget_s >= 0)) refuse("budget_s", config.budget_s, "must be at least 0");
  if (!(config.target >= 0)) refuse("target", config.target, "must be at least 0");
  if (config.min_samples < 1) refuse("min_samples", config.min_samples, "must be at least 1");
  if (config.max_samples < config.min_samples) {
    refuse("max_samples", config.max_samples, "must be at least min_samples");
  }
}

// Brings caches, page tables, clocks and the provider's own threads to where they stay.
int warm_up(const std::function<double()>& launch, const std::function<void()>& between, double seconds) {
  int launches = 0;
  const Clock::time_point begin = Clock::now();
  do {
    if (between) between();
    (void)launch();
    ++launches;
  } while (seconds_since(begin) < seconds);
  return launches;
}

double timed_ns(const std::function<void()>& launch) {
  const Clock::time_point begin = Clock::now();
  launch();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

}  // namespace

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::precise: return "precise";
    case StopReason::budget: return "budget";
    case StopReason::max_samples: return "max_samples";
  }
  return "?";
}

SampleResult sample(const std::function<void()>& launch, const SampleConfig& config, const SampleHooks& hooks) {
  return sample_timed([&launch] { return timed_ns(launch); }, config, hooks);
}

SampleResult sample_timed(const std::function<double()>& timed_launch, const SampleConfig& config,
                          const SampleHooks& hooks) {
  check(config);
  SampleResult result;
  result.warmup_launches = warm_up(timed_launch, hooks.between, config.warmup_s);
  if (hooks.warmed_up) hooks.warmed_up();
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (hooks.between) hooks.between();
    result.samples_ns.push_back(timed_launch());
    const auto count = static_cast<int>(result.samples_ns.size());
    if (count < config.min_samples) continue;
    const MedianInterval median = median_with_ci(result.samples_ns);
    if (median.relative_half_width() < config.target) {
      result.stop = StopReason::precise;
    } else if (count >= config.max_samples) {
      result.stop = StopReason::max_samples;
    } else if (seconds_since(begin) >= config.budget_s) {
      result.stop = StopReason::budget;
    } else {
      continue;
    }
    result.median_ns = median.median;
    result.ci95_low_ns = median.low;
    result.ci95_high_ns = median.high;
    return result;
  }
}

}  // namespace mla::harness
