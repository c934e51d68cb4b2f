#include "reports/compare.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "reports/detail/speed_judge.hpp"
#include "reports/detail/text.hpp"

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
      : base_(base),
        next_(next),
        same_machine_(base.environment.fingerprint == next.environment.fingerprint),
        judge_(options, next.environment.fingerprint) {
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
    judge_.decide(result_.cases);
    result_.drift = judge_.drift();
    detail::name_faster_paths(result_.cases);
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
    entry.device = named.device;
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
    const std::string why_not = same_machine_ ? objection(base, next) : "fingerprints differ";
    judge_.add(*base.performance, *next.performance, result_.cases.size(), why_not, entry);
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
    note_canaries();
    if (judge_.few_launches() > 0) {
      note(fmt::format("{} of fewer than {} launches a side: only a change beyond {:.0f} % is judged",
                       detail::plural(judge_.few_launches(), "case"), kMinLaunches,
                       100 * std::max(result_.options.margin, kFewLaunchesMargin)));
    }
    if (result_.tally.matched == 0) note("no case is in both reports");
  }

  void note_canaries() {
    if (result_.drift) {
      result_.notes.push_back(fmt::format("canaries: {}, changed by {:+.2f} %, which is taken off every ratio",
                                          detail::plural(result_.drift->cases, "case"),
                                          100 * (result_.drift->ratio - 1)));
    }
    const std::string& of = result_.options.margins.floors.fingerprint;
    if (!of.empty() && of != result_.next_fingerprint) {
      result_.notes.push_back(fmt::format("the floors are of another machine ({}) and do not count", of));
    }
  }

  const Report& base_;
  const Report& next_;
  bool same_machine_;
  detail::SpeedJudge judge_;
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
