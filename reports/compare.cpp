#include "reports/compare.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "reports/detail/text.hpp"
#include "reports/statistics/decision.hpp"
#include "reports/statistics/median.hpp"

namespace mla::reports {
namespace {

Change classify(std::optional<Verdict> base, std::optional<Verdict> next) {
  if (!next) return Change::missing;
  if (is_wrong(*next)) return base && is_wrong(*base) ? Change::still_wrong : Change::wrong;
  // A result that used to be right is not made right by declaring its failure known.
  if (*next == Verdict::known_failure && base == Verdict::passed) return Change::wrong;
  if (!base) return Change::added;
  if (is_unchecked(*next)) return is_unchecked(*base) ? Change::unchanged : Change::unchecked;
  if (is_wrong(*base) && *next != Verdict::known_failure) return Change::fixed;
  return *base == *next ? Change::unchanged : Change::changed;
}

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
Ratio ratio_of(const Performance& base, const Performance& next, const CompareOptions& options) {
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
  ratio.margin = std::max(options.margin, options.floor_ns / ratio.base_ns);
  if (!by_launch) ratio.margin = std::max(ratio.margin, kFewLaunchesMargin);
  return ratio;
}

/// Samples of few launches: a verdict only where the change is beyond what one unlucky launch explains.
Speed verdict_of_few(const Ratio& ratio) {
  if (ratio.low > 1 + ratio.margin) return Speed::regressed;
  return ratio.high < 1 / (1 + ratio.margin) ? Speed::improved : Speed::inconclusive;
}

Speed speed_of(statistics::Outcome outcome) {
  switch (outcome) {
    case statistics::Outcome::same: return Speed::same;
    case statistics::Outcome::improved: return Speed::improved;
    case statistics::Outcome::regressed: return Speed::regressed;
    case statistics::Outcome::inconclusive: return Speed::inconclusive;
  }
  return Speed::inconclusive;
}

/// Why two measurements of one case must not be compared; empty where they may.
std::string objection(const Case& base, const Case& next) {
  const auto differ = [](std::string_view what, std::string_view a, std::string_view b) {
    return fmt::format("{} differs: {} and {}", what, a, b);
  };
  if (!base.input_digest.empty() && !next.input_digest.empty() && base.input_digest != next.input_digest) {
    return differ("input digest", base.input_digest, next.input_digest);
  }
  if (base.device != next.device) return differ("device", base.device, next.device);
  if (base.performance->timer != next.performance->timer) {
    return differ("timer", base.performance->timer, next.performance->timer);
  }
  if (base.performance->cache != next.performance->cache) {
    return differ("cache regime", base.performance->cache, next.performance->cache);
  }
  return {};
}

bool measures(const Run& run) {
  return run.mode.find('P') != std::string::npos;
}

class Comparer {
 public:
  Comparer(const Report& base, const Report& next, const CompareOptions& options)
      : base_(base), next_(next), same_machine_(base.environment.fingerprint == next.environment.fingerprint) {
    result_.options = options;
    result_.base = base.run;
    result_.next = next.run;
    result_.base_fingerprint = base.environment.fingerprint;
    result_.next_fingerprint = next.environment.fingerprint;
  }

  Comparison run() {
    std::unordered_map<std::string_view, const Case*> by_key;
    for (const Case& entry : base_.cases) by_key.emplace(entry.key, &entry);
    result_.cases.reserve(base_.cases.size());
    for (const Case& entry : next_.cases) {
      const auto at = by_key.find(entry.key);
      add(at == by_key.end() ? nullptr : at->second, &entry);
      if (at != by_key.end()) by_key.erase(at);
    }
    for (const Case& entry : base_.cases) {
      if (by_key.contains(entry.key)) add(&entry, nullptr);
    }
    decide_speeds();
    for (const CaseComparison& entry : result_.cases) count(entry);
    add_notes();
    return std::move(result_);
  }

 private:
  void add(const Case* base, const Case* next) {
    const Case& named = next != nullptr ? *next : *base;
    CaseComparison entry;
    entry.key = named.key;
    entry.repro = named.repro;
    entry.problem = named.problem;
    entry.provider = named.provider;
    entry.name = named.short_name();
    if (base != nullptr) entry.base = base->verdict;
    if (next != nullptr) {
      entry.next = next->verdict;
      entry.reason = next->reason;
    }
    entry.change = classify(entry.base, entry.next);
    if (base != nullptr && next != nullptr) {
      note_kernels(*base, *next, entry);
      judge_speed(*base, *next, entry);
    }
    result_.cases.push_back(std::move(entry));
  }

  static void note_kernels(const Case& base, const Case& next, CaseComparison& entry) {
    if (!base.kernel || !next.kernel) return;
    const auto text = [](const Kernel& kernel) {
      return fmt::format("{} {} {}", kernel.name, kernel.variant, kernel.digest.substr(0, 12));
    };
    entry.kernel_changed = base.kernel->digest != next.kernel->digest || base.kernel->name != next.kernel->name ||
                           base.kernel->variant != next.kernel->variant;
    entry.base_kernel = text(*base.kernel);
    entry.next_kernel = text(*next.kernel);
  }

  void judge_speed(const Case& base, const Case& next, CaseComparison& entry) {
    if (!base.performance) return;
    if (!next.performance) {
      // A right result whose measurement vanished must not pass for a speed that was found unchanged.
      if (next.verdict == Verdict::passed && measures(next_.run)) {
        entry.speed = Speed::invalid;
        entry.note = fmt::format("measured in {} only", result_.options.base_name);
      }
      return;
    }
    entry.note = same_machine_ ? objection(base, next) : "fingerprints differ";
    entry.ratio = ratio_of(*base.performance, *next.performance, result_.options);
    if (!entry.note.empty()) {
      entry.speed = Speed::invalid;
    } else if (!enough_launches(*entry.ratio)) {
      entry.speed = verdict_of_few(*entry.ratio);
      ++few_launches_;
    } else {
      effects_.push_back(statistics::unpaired_effect(launch_logs(*next.performance), launch_logs(*base.performance),
                                                     std::log1p(entry.ratio->margin)));
      place_of_effect_.push_back(result_.cases.size());
    }
  }

  /// Cases with enough launches are decided together: they share their variance and their false alarms.
  void decide_speeds() {
    const std::vector<statistics::Decision> decisions = statistics::decide(effects_);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      CaseComparison& entry = result_.cases[place_of_effect_[i]];
      entry.speed = speed_of(decisions[i].outcome);
      entry.ratio->estimate = std::exp(effects_[i].estimate);
      entry.ratio->low = std::exp(decisions[i].ci95.low);
      entry.ratio->high = std::exp(decisions[i].ci95.high);
      entry.ratio->detectable = std::expm1(decisions[i].detectable_change);
    }
  }

  void count(const CaseComparison& entry) {
    Tally& tally = result_.tally;
    tally.matched += entry.base && entry.next ? 1 : 0;
    tally.wrong += entry.change == Change::wrong || entry.change == Change::still_wrong ? 1 : 0;
    tally.missing += entry.change == Change::missing || entry.change == Change::unchecked ? 1 : 0;
    tally.unexpected_pass += entry.next == Verdict::unexpected_pass ? 1 : 0;
    tally.invalid += entry.speed == Speed::invalid ? 1 : 0;
    tally.regressed += entry.speed == Speed::regressed ? 1 : 0;
    tally.inconclusive += entry.speed == Speed::inconclusive ? 1 : 0;
  }

  void add_notes() {
    const auto note = [&](std::string line) { result_.notes.push_back(std::move(line)); };
    for (const auto* side : {&base_, &next_}) {
      const std::string& name = side == &base_ ? result_.options.base_name : result_.options.next_name;
      for (const std::string& warning : side->warnings) note(fmt::format("{}: {}", name, warning));
      if (!side->run.complete && side->warnings.empty()) note(fmt::format("{}: the run was interrupted", name));
      if (side->run.git_dirty) note(fmt::format("{}: built from a tree with uncommitted changes", name));
    }
    if (base_.run.seed != next_.run.seed) note("the runs had different seeds");
    if (!same_machine_) {
      note(fmt::format("fingerprints differ ({} and {}): times are shown, not judged", result_.base_fingerprint,
                       result_.next_fingerprint));
    }
    if (few_launches_ > 0) {
      note(fmt::format("{} of fewer than {} launches a side: only a change beyond {:.0f} % is judged",
                       detail::plural(few_launches_, "case"), kMinLaunches,
                       100 * std::max(result_.options.margin, kFewLaunchesMargin)));
    }
    if (result_.tally.matched == 0) note("no case is in both reports");
  }

  const Report& base_;
  const Report& next_;
  bool same_machine_;
  std::size_t few_launches_ = 0;  // cases
  std::vector<statistics::Effect> effects_;
  std::vector<std::size_t> place_of_effect_;  // in result_.cases
  Comparison result_;
};

}  // namespace

std::string_view name_of(Change change) {
  switch (change) {
    case Change::unchanged: return "unchanged";
    case Change::fixed: return "fixed";
    case Change::wrong: return "wrong";
    case Change::still_wrong: return "still_wrong";
    case Change::missing: return "missing";
    case Change::unchecked: return "unchecked";
    case Change::added: return "added";
    case Change::changed: return "changed";
  }
  return "unknown";
}

std::string_view name_of(Speed speed) {
  switch (speed) {
    case Speed::not_compared: return "not_compared";
    case Speed::same: return "same";
    case Speed::improved: return "improved";
    case Speed::regressed: return "regressed";
    case Speed::inconclusive: return "inconclusive";
    case Speed::invalid: return "invalid";
  }
  return "unknown";
}

CompareExit exit_code(const Tally& tally, bool allow_missing, bool strict) {
  if (tally.wrong > 0) return CompareExit::wrong_result;
  if (tally.missing > 0 && !allow_missing) return CompareExit::missing_cases;
  if (tally.invalid > 0 || tally.matched == 0) return CompareExit::invalid;
  if (tally.regressed > 0) return CompareExit::regression;
  if (strict && (tally.inconclusive > 0 || tally.unexpected_pass > 0)) return CompareExit::regression;
  return CompareExit::ok;
}

Comparison compare(const Report& base, const Report& next, const CompareOptions& options) {
  return Comparer(base, next, options).run();
}

}  // namespace mla::reports
