#include "reports/pair/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "reports/detail/speed_judge.hpp"
#include "reports/detail/text.hpp"
#include "reports/statistics/decision.hpp"
#include "reports/statistics/median.hpp"

namespace mla::reports {
namespace {

/// A standard deviation needs two.
constexpr std::size_t kFewestPairs = 2;

/// A case's pairs of a stage that come before the one of number `end`.
std::vector<const PairTimes*> pairs_before(const PairedCase& paired, PairStage stage, int end) {
  std::vector<const PairTimes*> pairs;
  for (const PairTimes& pair : paired.pairs) {
    if (pair.stage == stage && pair.base->pair < end) pairs.push_back(&pair);
  }
  return pairs;
}

double median_of(const std::vector<const PairTimes*>& pairs, const PairLaunch* PairTimes::*side) {
  std::vector<double> medians;
  for (const PairTimes* pair : pairs) medians.push_back((pair->*side)->median_ns());
  return statistics::median(std::move(medians));
}

/// One case's change, from some of its pairs.
struct Sized {
  const PairedCase* paired = nullptr;
  Ratio ratio;
  statistics::Effect effect;
};

Sized size_up(const PairedCase& paired, const std::vector<const PairTimes*>& pairs, const PairRules& rules) {
  Sized sized;
  sized.paired = &paired;
  std::vector<double> differences;
  for (const PairTimes* pair : pairs) differences.push_back(pair->log_ratio());
  Ratio& ratio = sized.ratio;
  ratio.base_ns = median_of(pairs, &PairTimes::base);
  ratio.next_ns = median_of(pairs, &PairTimes::next);
  ratio.base_launches = differences.size();
  ratio.next_launches = differences.size();
  const CompareOptions& options = rules.compare;
  ratio.margin =
      std::max(options.margins.of(paired.key, options.margin, rules.fingerprint), options.floor_ns / ratio.base_ns);
  sized.effect = statistics::paired_effect(differences, std::log1p(ratio.margin));
  return sized;
}

/// The cases that have pairs enough of a stage, and what those say when they are decided together.
struct Decided {
  std::vector<Sized> sized;
  std::vector<statistics::Decision> decisions;
};

std::vector<statistics::Decision> decide_all(const std::vector<Sized>& sized, double level) {
  std::vector<statistics::Effect> effects;
  for (const Sized& one : sized) effects.push_back(one.effect);
  return statistics::decide(effects, {.level = level});
}

/// From all pairs before the one of number `end`.
Decided decide_stage(std::span<const PairedCase> cases, PairStage stage, int end, double level,
                     const PairRules& rules) {
  Decided decided;
  for (const PairedCase& paired : cases) {
    if (paired.failure != nullptr || !paired.objection.empty()) continue;
    const auto pairs = pairs_before(paired, stage, end);
    if (pairs.size() >= kFewestPairs) decided.sized.push_back(size_up(paired, pairs, rules));
  }
  decided.decisions = decide_all(decided.sized, level);
  return decided;
}

constexpr double kLevel = statistics::DecisionOptions{}.level;

Decided decide_screening(std::span<const PairedCase> cases, const PairRules& rules) {
  return decide_stage(cases, PairStage::screen, std::numeric_limits<int>::max(), kLevel, rules);
}

/// What is known after so many looks. A case that an earlier one closed stays as it was, and still counts among the
/// tests that are made together.
Decided decide_confirmed(std::span<const PairedCase> cases, const PairRules& rules, int looks) {
  const double level = kLevel / rules.looks;
  Decided decided = decide_stage(cases, PairStage::confirm, rules.confirm_pairs, level, rules);
  for (int look = 2; look <= looks; ++look) {
    const auto is_open = [&](std::size_t i) {
      return decided.decisions[i].outcome == statistics::Outcome::inconclusive;
    };
    for (std::size_t i = 0; i < decided.sized.size(); ++i) {
      const PairedCase& paired = *decided.sized[i].paired;
      if (!is_open(i)) continue;
      decided.sized[i] = size_up(paired, pairs_before(paired, PairStage::confirm, look * rules.confirm_pairs), rules);
    }
    const std::vector<statistics::Decision> decisions = decide_all(decided.sized, level);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      if (is_open(i)) decided.decisions[i] = decisions[i];
    }
  }
  return decided;
}

/// Reasons that held the clock down during a case's launches: interleaving shares them between both sides, and a reader
/// should know of them.
std::string throttling(const PairedCase& paired) {
  std::map<std::string, std::size_t> launches_by_reason;
  for (const PairTimes& pair : paired.pairs) {
    for (const PairLaunch* launch : {pair.base, pair.next}) {
      const Json::json_pointer pointer("/end/throttle");
      if (!launch->times.clocks.is_object() || !launch->times.clocks.contains(pointer)) continue;
      for (const Json& reason : launch->times.clocks.at(pointer)) {
        if (reason.is_string()) ++launches_by_reason[reason.get<std::string>()];
      }
    }
  }
  std::string text;
  for (const auto& [reason, launches] : launches_by_reason) {
    text += fmt::format("{}{} in {} of {} launches", text.empty() ? "throttled: " : ", ", reason, launches,
                        2 * paired.pairs.size());
  }
  return text;
}

class Judge {
 public:
  Judge(const Report& base, const Report& next, std::span<const PairedCase> cases, const PairRules& rules)
      : base_(base), next_(next), cases_(cases), rules_(rules) {}

  PairJudgement run() {
    compare_checks();
    for (CaseComparison& entry : result_.comparison.cases) by_key_.emplace(entry.key, &entry);
    note_unusable();
    set_speeds();
    recount();
    return std::move(result_);
  }

 private:
  // Two commits may be built differently, and that may be the question: what must agree is the machine, and it does.
  void compare_checks() {
    Report next = next_;
    next.environment.fingerprint = base_.environment.fingerprint;
    result_.comparison = compare(base_, next, rules_.compare);
    result_.comparison.next_fingerprint = next_.environment.fingerprint;
    const auto build = [](const Run& run) {
      return fmt::format("{} {} {}", run.compiler, run.build_type, run.build_flags);
    };
    if (build(base_.run) != build(next_.run)) {
      note(fmt::format("built differently: {} and {}", build(base_.run), build(next_.run)));
    }
    std::unordered_map<std::string_view, const Case*> base_cases;
    for (const Case& entry : base_.cases) base_cases.emplace(entry.key, &entry);
    for (const Case& entry : next_.cases) {
      const auto at = base_cases.find(entry.key);
      if (at == base_cases.end() || at->second->input_digest == entry.input_digest) continue;
      digests_differ_.emplace(
          entry.key, fmt::format("input digest differs: {} and {}", at->second->input_digest, entry.input_digest));
    }
  }

  void note(std::string line) { result_.comparison.notes.push_back(std::move(line)); }

  void note_unusable() {
    for (CaseComparison& entry : result_.comparison.cases) {
      if (const auto at = digests_differ_.find(entry.key); at != digests_differ_.end()) invalidate(entry, at->second);
    }
    for (const PairedCase& paired : cases_) {
      const auto at = by_key_.find(paired.key);
      if (at == by_key_.end()) continue;
      CaseComparison& entry = *at->second;
      if (paired.failure != nullptr) {
        entry.change = Change::wrong;
        entry.reason = Reason{"launch", fmt::format("a launch of {} {}", side_name(paired.failure->side),
                                                    detail::one_line(paired.failure->failure))};
      } else if (!paired.objection.empty()) {
        invalidate(entry, paired.objection);
      } else if (entry.speed != Speed::invalid) {
        entry.note = throttling(paired);
      }
    }
  }

  static void invalidate(CaseComparison& entry, const std::string& why) {
    entry.speed = Speed::invalid;
    entry.note = why;
  }

  static std::string_view side_name(PairSide side) { return side == PairSide::base ? "BASE" : "NEW"; }

  void set_speeds() {
    const bool confirms = rules_.confirm_pairs > 0;
    const Decided screened = decide_screening(cases_, rules_);
    const Decided confirmed = decide_confirmed(cases_, rules_, rules_.looks);
    for (std::size_t i = 0; i < screened.sized.size(); ++i) {
      const PairedCase& paired = *screened.sized[i].paired;
      if (paired.count(PairStage::confirm) >= kFewestPairs) continue;
      Speed speed = detail::speed_of(screened.decisions[i].outcome);
      // To be confirmed, and not yet.
      if (confirms && speed != Speed::same) speed = Speed::inconclusive;
      set_speed(screened, i, PairStage::screen, speed);
    }
    for (std::size_t i = 0; i < confirmed.sized.size(); ++i) {
      set_speed(confirmed, i, PairStage::confirm, detail::speed_of(confirmed.decisions[i].outcome));
    }
    note(fmt::format("{} screened{}", detail::plural(screened.sized.size(), "case"),
                     confirms ? fmt::format(", {} confirmed with fresh pairs", confirmed.sized.size()) : ""));
  }

  void set_speed(const Decided& decided, std::size_t index, PairStage stage, Speed speed) {
    const Sized& sized = decided.sized[index];
    const auto at = by_key_.find(sized.paired->key);
    if (at == by_key_.end() || at->second->speed == Speed::invalid) return;
    const statistics::Decision& decision = decided.decisions[index];
    CaseComparison& entry = *at->second;
    entry.speed = speed;
    entry.ratio = sized.ratio;
    entry.ratio->estimate = std::exp(sized.effect.estimate);
    entry.ratio->low = std::exp(decision.ci95.low);
    entry.ratio->high = std::exp(decision.ci95.high);
    entry.ratio->detectable = std::expm1(decision.detectable_change);
    result_.evidence.push_back({entry.key, stage, decision.p_slower, decision.p_faster});
  }

  void recount() {
    Tally& tally = result_.comparison.tally;
    tally.wrong = 0;
    tally.invalid = 0;
    tally.regressed = 0;
    tally.inconclusive = 0;
    std::size_t wrong_in_base = 0;
    for (const CaseComparison& entry : result_.comparison.cases) {
      const bool next_wrong = entry.change == Change::wrong || entry.change == Change::still_wrong;
      const bool base_wrong = entry.base && is_wrong(*entry.base);
      tally.wrong += next_wrong || base_wrong ? 1 : 0;
      wrong_in_base += base_wrong ? 1 : 0;
      tally.invalid += entry.speed == Speed::invalid ? 1 : 0;
      tally.regressed += entry.speed == Speed::regressed ? 1 : 0;
      tally.inconclusive += entry.speed == Speed::inconclusive ? 1 : 0;
    }
    if (wrong_in_base > 0) {
      note(fmt::format("{} wrong in BASE: nothing to compare a speed with", detail::plural(wrong_in_base, "case")));
    }
  }

  const Report& base_;
  const Report& next_;
  std::span<const PairedCase> cases_;
  const PairRules& rules_;
  PairJudgement result_;
  std::unordered_map<std::string_view, CaseComparison*> by_key_;
  std::unordered_map<std::string, std::string> digests_differ_;
};

/// Both launches of a pair, as they come in.
struct Halves {
  const PairLaunch* base = nullptr;
  const PairLaunch* next = nullptr;
};

std::string objection_to(const PairTimes& pair) {
  const auto differ = [](std::string_view what, const std::string& a, const std::string& b) {
    return a == b ? std::string() : fmt::format("{} differs: {} and {}", what, a, b);
  };
  const std::string timer = differ("timer", pair.base->times.timer, pair.next->times.timer);
  return timer.empty() ? differ("cache regime", pair.base->times.cache, pair.next->times.cache) : timer;
}

}  // namespace

double PairTimes::log_ratio() const {
  return std::log(next->median_ns() / base->median_ns());
}

std::size_t PairedCase::count(PairStage stage) const {
  return static_cast<std::size_t>(
      std::count_if(pairs.begin(), pairs.end(), [stage](const PairTimes& pair) { return pair.stage == stage; }));
}

std::vector<PairedCase> pair_up(std::span<const PairLaunch> launches) {
  std::vector<PairedCase> cases;
  std::unordered_map<std::string_view, std::size_t> place;
  std::map<std::tuple<std::string_view, PairStage, int>, Halves> open;
  for (const PairLaunch& launch : launches) {
    const auto [at, is_new] = place.try_emplace(launch.key, cases.size());
    if (is_new) cases.push_back({launch.key, {}, nullptr, {}});
    PairedCase& paired = cases[at->second];
    if (!launch.failure.empty()) {
      if (paired.failure == nullptr) paired.failure = &launch;
      continue;
    }
    Halves& halves = open[{launch.key, launch.stage, launch.pair}];
    // A pair that was begun twice, before and after an interruption, counts with its later halves, which ran together.
    if (launch.first) halves = {};
    (launch.side == PairSide::base ? halves.base : halves.next) = &launch;
    if (halves.base == nullptr || halves.next == nullptr) continue;
    paired.pairs.push_back({launch.stage, halves.base->first, halves.base, halves.next});
    if (paired.objection.empty()) paired.objection = objection_to(paired.pairs.back());
  }
  return cases;
}

std::vector<std::string> to_confirm(std::span<const PairedCase> cases, const PairRules& rules, int look) {
  const Decided decided = look == 0 ? decide_screening(cases, rules) : decide_confirmed(cases, rules, look);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < decided.sized.size(); ++i) {
    const statistics::Decision& decision = decided.decisions[i];
    const bool suspected = look == 0 && std::min(decision.p_slower, decision.p_faster) < rules.screen_level;
    const bool open = look == 0 ? decision.outcome != statistics::Outcome::same
                                : decision.outcome == statistics::Outcome::inconclusive;
    if (suspected || open) keys.push_back(decided.sized[i].paired->key);
  }
  return keys;
}

PairJudgement judge(const Report& base, const Report& next, std::span<const PairedCase> cases, const PairRules& rules) {
  return Judge(base, next, cases, rules).run();
}

}  // namespace mla::reports
