#include "reports/detail/speed_judge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "reports/detail/text.hpp"
#include "reports/pattern.hpp"
#include "reports/statistics/median.hpp"

namespace mla::reports::detail {
namespace {

/// The logarithm of each launch's median.
std::vector<double> launch_logs(const Performance& performance) {
  std::vector<double> logs;
  for (const auto& launch : performance.launch_samples_ns) logs.push_back(std::log(statistics::median(launch)));
  return logs;
}

/// The logarithms of all samples, whichever launch they come from.
std::vector<double> sample_logs(const Performance& performance) {
  std::vector<double> logs;
  for (const auto& launch : performance.launch_samples_ns) {
    for (const double ns : launch) logs.push_back(std::log(ns));
  }
  return logs;
}

bool enough_launches(const Ratio& ratio) {
  return std::min(ratio.base_launches, ratio.next_launches) >= kMinLaunches;
}

/// What can be said of one case by itself. With too few launches that is all there will be.
Ratio ratio_of(const Performance& base, const Performance& next, double margin, double floor_ns) {
  Ratio ratio;
  ratio.base_launches = base.launch_samples_ns.size();
  ratio.next_launches = next.launch_samples_ns.size();
  const bool by_launch = enough_launches(ratio);
  const auto a = statistics::estimate_median(by_launch ? launch_logs(next) : sample_logs(next));
  const auto b = statistics::estimate_median(by_launch ? launch_logs(base) : sample_logs(base));
  const auto interval = statistics::difference_interval(a, b);
  ratio.estimate = std::exp(a.value - b.value);
  ratio.low = std::exp(interval.low);
  ratio.high = std::exp(interval.high);
  ratio.base_ns = std::exp(b.value);
  ratio.next_ns = std::exp(a.value);
  ratio.margin = std::max(margin, floor_ns / ratio.base_ns);
  if (!by_launch) ratio.margin = std::max(ratio.margin, kFewLaunchesMargin);
  return ratio;
}

/// Mean compute clock around a measurement in MHz, where a driver told both ends.
std::optional<double> clock_of(const Performance& performance) {
  if (!performance.clocks) return std::nullopt;
  const auto mhz = [](const ClockReading& reading) { return reading.sm_mhz ? reading.sm_mhz : reading.cpu_mhz; };
  const auto start = mhz(performance.clocks->start);
  const auto end = mhz(performance.clocks->end);
  if (!start || !end || *start <= 0 || *end <= 0) return std::nullopt;
  return std::midpoint(*start, *end);
}

bool moved(statistics::Outcome outcome) {
  return outcome == statistics::Outcome::regressed || outcome == statistics::Outcome::improved;
}

/// A change of the time is one of the code only where the number of cycles changed alike, and no change is none only
/// where a faster clock does not hide more cycles.
bool contradict(statistics::Outcome time, statistics::Outcome cycles) {
  return moved(time) ? cycles != time : time == statistics::Outcome::same && moved(cycles);
}

}  // namespace

Speed speed_of(statistics::Outcome outcome) {
  switch (outcome) {
    case statistics::Outcome::same: return Speed::same;
    case statistics::Outcome::improved: return Speed::improved;
    case statistics::Outcome::regressed: return Speed::regressed;
    case statistics::Outcome::inconclusive: return Speed::inconclusive;
  }
  return Speed::inconclusive;
}

void SpeedJudge::add(const Performance& base, const Performance& next, std::size_t place, const std::string& objection,
                     CaseComparison& entry) {
  entry.ratio = ratio_of(base, next, options_.margins.of(entry.key, options_.margin, fingerprint_), options_.floor_ns);
  const auto base_clock = clock_of(base);
  const auto next_clock = clock_of(next);
  if (base_clock && next_clock) entry.ratio->clock = *next_clock / *base_clock;
  entry.note = objection;
  if (!objection.empty()) {
    entry.speed = Speed::invalid;
    return;
  }
  // A canary whose code changed tells nothing of the machine.
  entry.canary = is_canary(entry.key) && !entry.kernel_changed;
  if (entry.canary) canaries_.push_back(std::log(entry.ratio->estimate));
  if (enough_launches(*entry.ratio)) {
    many_.push_back(
        {place, statistics::unpaired_effect(launch_logs(next), launch_logs(base), std::log1p(entry.ratio->margin))});
  } else {
    few_.push_back(place);
  }
}

bool SpeedJudge::is_canary(const std::string& key) const {
  const auto& patterns = options_.margins.canaries;
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return matches(pattern, key); });
}

void SpeedJudge::measure_drift() {
  if (canaries_.empty()) return;
  const double change = statistics::median(canaries_);
  drift_ = CanaryDrift{canaries_.size(), std::exp(change)};
}

void SpeedJudge::refuse_all(std::vector<CaseComparison>& cases, const std::string& why) const {
  const auto refuse = [&](std::size_t place) {
    cases[place].speed = Speed::invalid;
    cases[place].note = why;
  };
  for (const Measured& measured : many_) refuse(measured.place);
  for (const std::size_t place : few_) refuse(place);
}

/// Samples of few launches: a verdict only where the change is beyond what one unlucky launch explains.
void SpeedJudge::decide_few(CaseComparison& entry) const {
  Ratio& ratio = *entry.ratio;
  const double drift = drift_ ? drift_->ratio : 1;
  ratio.estimate /= drift;
  ratio.low /= drift;
  ratio.high /= drift;
  entry.speed = ratio.low > 1 + ratio.margin          ? Speed::regressed
                : ratio.high < 1 / (1 + ratio.margin) ? Speed::improved
                                                      : Speed::inconclusive;
}

/// Cases with enough launches are decided together: they share their variance and their false alarms.
void SpeedJudge::decide_many(std::vector<CaseComparison>& cases) {
  std::vector<statistics::Effect> effects;
  for (const Measured& measured : many_) effects.push_back(measured.effect);
  if (drift_) {
    for (statistics::Effect& effect : effects) effect = statistics::shifted(effect, -std::log(drift_->ratio));
  }
  const std::vector<statistics::Decision> decisions = decide_together(effects);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    CaseComparison& entry = cases[many_[i].place];
    entry.speed = speed_of(decisions[i].outcome);
    entry.ratio->estimate = std::exp(effects[i].estimate);
    entry.ratio->low = std::exp(decisions[i].ci95.low);
    entry.ratio->high = std::exp(decisions[i].ci95.high);
    entry.ratio->detectable = std::expm1(decisions[i].detectable_change);
  }
  check_cycles(effects, decisions, cases);
}

/// Two sessions share whatever the machine did in either; canaries take it off, and without them nothing is known of
/// how the cases' errors hang together.
std::vector<statistics::Decision> SpeedJudge::decide_together(const std::vector<statistics::Effect>& effects) const {
  using statistics::Dependence;
  return statistics::decide(effects, {.dependence = drift_ ? Dependence::positive : Dependence::arbitrary});
}

void SpeedJudge::check_cycles(const std::vector<statistics::Effect>& effects,
                              const std::vector<statistics::Decision>& decisions,
                              std::vector<CaseComparison>& cases) const {
  std::vector<statistics::Effect> in_cycles = effects;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (const auto clock = cases[many_[i].place].ratio->clock) in_cycles[i] = shifted(effects[i], std::log(*clock));
  }
  const std::vector<statistics::Decision> by_cycle = decide_together(in_cycles);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    CaseComparison& entry = cases[many_[i].place];
    if (!entry.ratio->clock || !contradict(decisions[i].outcome, by_cycle[i].outcome)) continue;
    entry.speed = Speed::inconclusive;
    entry.note = fmt::format("{} by time ({:+.1f} %), {} by cycle ({:+.1f} %): the clock changed by {:+.1f} %",
                             name_of(speed_of(decisions[i].outcome)), 100 * std::expm1(effects[i].estimate),
                             name_of(speed_of(by_cycle[i].outcome)), 100 * std::expm1(in_cycles[i].estimate),
                             100 * (*entry.ratio->clock - 1));
  }
}

void SpeedJudge::decide(std::vector<CaseComparison>& cases) {
  measure_drift();
  if (!options_.margins.canaries.empty() && !drift_) {
    return refuse_all(cases, "no canary: none of the cases named so was measured on both sides with the same kernel");
  }
  if (drift_ && std::abs(std::log(drift_->ratio)) > kMostCanaryDrift) {
    return refuse_all(cases, fmt::format("the machine changed: canaries by {:+.1f} %", 100 * (drift_->ratio - 1)));
  }
  for (const std::size_t place : few_) decide_few(cases[place]);
  decide_many(cases);
}

void name_faster_paths(std::vector<CaseComparison>& cases) {
  std::unordered_map<std::string_view, std::vector<const CaseComparison*>> paths;
  for (const CaseComparison& entry : cases) {
    if (entry.ratio && entry.speed != Speed::invalid) paths[entry.problem].push_back(&entry);
  }
  for (CaseComparison& entry : cases) {
    if (entry.speed != Speed::regressed) continue;
    const auto& others = paths[entry.problem];
    const auto by = [&](double Ratio::*ns) {
      return *std::min_element(others.begin(), others.end(),
                               [ns](const auto* a, const auto* b) { return (*a->ratio).*ns < (*b->ratio).*ns; });
    };
    const CaseComparison* now = by(&Ratio::next_ns);
    if (by(&Ratio::base_ns) != &entry || now == &entry || now->device != entry.device) continue;
    entry.note = fmt::format("{} is faster now: {}", now->provider, time_text(now->ratio->next_ns));
  }
}

}  // namespace mla::reports::detail
