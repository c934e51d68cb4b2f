#include "suites/statistics/rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/pair/judge.hpp"
#include "reports/statistics/decision.hpp"
#include "reports/statistics/median.hpp"

namespace mla::suites {
namespace {

namespace statistics = reports::statistics;

double mean_of(const std::vector<double>& sample) {
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

/// Standard deviation over mean: "noise".
double noise_of(const std::vector<double>& sample) {
  const double mean = mean_of(sample);
  double squares = 0;
  for (const double value : sample) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(sample.size() - 1)) / mean;
}

std::vector<double> pooled(const Launches& launches) {
  std::vector<double> all;
  for (const auto& launch : launches) all.insert(all.end(), launch.begin(), launch.end());
  return all;
}

/// Two-sided p of the Mann-Whitney U test, by its normal approximation; equal times do not occur.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> merged;
  for (const double value : a) merged.emplace_back(value, true);
  for (const double value : b) merged.emplace_back(value, false);
  std::sort(merged.begin(), merged.end());
  double rank_sum = 0;
  for (std::size_t i = 0; i < merged.size(); ++i) rank_sum += merged[i].second ? static_cast<double>(i + 1) : 0;
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const double u = rank_sum - n * (n + 1) / 2;
  const double z = (u - n * m / 2) / std::sqrt(n * m * (n + m + 1) / 12);
  return std::erfc(std::abs(z) / std::sqrt(2.0));
}

/// A rule that looks at one case at a time.
template <class Changed>
auto case_by_case(Changed changed) {
  return [changed](const Sessions& sessions, const Sessions&) {
    Finding finding;
    for (std::size_t i = 0; i < sessions.base.size(); ++i) {
      finding.changed.push_back(changed(sessions.base[i], sessions.next[i]));
    }
    return finding;
  };
}

bool ratio_of_means(const Launches& base, const Launches& next) {
  return std::abs(mean_of(next[0]) / mean_of(base[0]) - 1) > 0.05;
}

bool beyond_noise(const std::vector<double>& base, const std::vector<double>& next) {
  return std::abs(mean_of(next) / mean_of(base) - 1) > std::min(noise_of(base), noise_of(next));
}

bool beyond_noise_of_one(const Launches& base, const Launches& next) {
  return beyond_noise(base[0], next[0]);
}

bool beyond_noise_of_all(const Launches& base, const Launches& next) {
  return beyond_noise(pooled(base), pooled(next));
}

bool u_test(const Launches& base, const Launches& next) {
  return mann_whitney(pooled(base), pooled(next)) < 0.05;
}

bool u_test_and_percent(const Launches& base, const Launches& next) {
  const double change = statistics::median(pooled(next)) / statistics::median(pooled(base)) - 1;
  return u_test(base, next) && std::abs(change) > 0.01;
}

/// A report as `compare` takes it.
reports::Report report_of(const std::vector<Launches>& session) {
  reports::Report report;
  report.run.mode = "P";
  report.environment.fingerprint = "simulated";
  const std::size_t frozen = session.size() - kCanaries;
  for (std::size_t i = 0; i < session.size(); ++i) {
    reports::Case& entry = report.cases.emplace_back();
    entry.problem = fmt::format("decode:b={}", i + 1);
    entry.provider = i >= frozen ? "frozen" : "eigen";
    entry.key = entry.problem + " @" + entry.provider;
    entry.performance.emplace().launch_samples_ns = session[i];
  }
  return report;
}

Finding finding_of(const reports::Comparison& comparison) {
  Finding finding;
  finding.refused = comparison.exit() == reports::CompareExit::invalid;
  for (const auto& entry : comparison.cases) {
    finding.changed.push_back(entry.speed == reports::Speed::regressed || entry.speed == reports::Speed::improved);
  }
  return finding;
}

Finding compared(const Sessions& sessions, const reports::CompareOptions& options) {
  return finding_of(reports::compare(report_of(sessions.base), report_of(sessions.next), options));
}

statistics::Effect paired(const Launches& base, const Launches& next) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < base.size(); ++i) {
    differences.push_back(std::log(statistics::median(next[i]) / statistics::median(base[i])));
  }
  return statistics::paired_effect(differences, std::log1p(reports::CompareOptions{}.margin));
}

/// All of them decided once.
Finding by_pairs(const Sessions& pairs, const Sessions&) {
  std::vector<statistics::Effect> effects;
  for (std::size_t i = 0; i < pairs.base.size(); ++i) effects.push_back(paired(pairs.base[i], pairs.next[i]));
  Finding finding;
  for (const statistics::Decision& decision : statistics::decide(effects)) {
    using statistics::Outcome;
    finding.changed.push_back(decision.outcome == Outcome::regressed || decision.outcome == Outcome::improved);
  }
  return finding;
}

/// Pairs `first` up to `end` of a case, as `pair` keeps them.
void add_launches(const Sessions& pairs, const reports::Report& report, std::size_t index, reports::PairStage stage,
                  std::size_t first, std::size_t end, std::vector<reports::PairLaunch>& launches) {
  for (std::size_t i = first; i < end; ++i) {
    for (const reports::PairSide side : {reports::PairSide::base, reports::PairSide::next}) {
      reports::PairLaunch& launch = launches.emplace_back();
      launch.key = report.cases[index].key;
      launch.stage = stage;
      launch.pair = static_cast<int>(i);
      launch.side = side;
      launch.first = side == reports::PairSide::base;
      launch.times.samples_ns = (side == reports::PairSide::base ? pairs.base : pairs.next)[index][i];
    }
  }
}

Finding screened_pairs(const Sessions& screen, const Sessions& fresh) {
  const reports::PairRules rules;
  const reports::Report report = report_of(screen.base);
  std::map<std::string, std::size_t> index;
  std::vector<reports::PairLaunch> launches;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    index[report.cases[i].key] = i;
    add_launches(screen, report, i, reports::PairStage::screen, 0, screen.base[i].size(), launches);
  }
  const auto confirm = static_cast<std::size_t>(rules.confirm_pairs);
  for (int look = 0; look < rules.looks; ++look) {
    const std::size_t first = confirm * static_cast<std::size_t>(look);
    for (const std::string& key : reports::to_confirm(reports::pair_up(launches), rules, look)) {
      add_launches(fresh, report, index[key], reports::PairStage::confirm, first, first + confirm, launches);
    }
  }
  return finding_of(reports::judge(report, report, reports::pair_up(launches), rules).comparison);
}

}  // namespace

std::vector<Rule> rules() {
  reports::CompareOptions canaries;
  canaries.margins.canaries = {"* @frozen"};
  const auto with = [](const reports::CompareOptions& options) {
    return [options](const Sessions& sessions, const Sessions&) { return compared(sessions, options); };
  };
  return {
      {"means differ by 5 % (one launch)", Design::one_launch, case_by_case(ratio_of_means)},
      {"nvbench-style: beyond the smaller noise (one launch)", Design::one_launch, case_by_case(beyond_noise_of_one)},
      {"the same, of all samples", Design::sessions, case_by_case(beyond_noise_of_all)},
      {"compare.py-style: U test of all samples", Design::sessions, case_by_case(u_test)},
      {"LNT-style: U test and 1 %", Design::sessions, case_by_case(u_test_and_percent)},
      {"`compare`, two reports", Design::sessions, with({})},
      {"`compare` with canaries", Design::sessions, with(canaries)},
      {"12 interleaved pairs", Design::pairs, by_pairs},
      {"`pair`: 6 pairs, then 16 to 64 of what they leave open", Design::screened, screened_pairs},
  };
}

}  // namespace mla::suites
