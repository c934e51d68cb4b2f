#include "suites/statistics/simulation.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/pair/judge.hpp"

namespace mla::suites {
namespace {

constexpr int kLaunches = 12;
constexpr int kScreenPairs = 6;
const int kFreshPairs = reports::PairRules{}.confirm_pairs * reports::PairRules{}.looks;
constexpr int kSamples = 20;

/// Times of one round, each design's made when a rule first asks for it.
class Times {
 public:
  Times(const Scenario& scenario, std::uint64_t seed) : scenario_(scenario), seed_(seed) {
    changes_.resize(static_cast<std::size_t>(kCases + kCanaries));
    for (int i = 0; i < scenario.slower; ++i) changes_[static_cast<std::size_t>(i)] = std::log1p(scenario.slowdown);
  }

  [[nodiscard]] const Sessions& of(Design design) {
    switch (design) {
      case Design::one_launch:
      case Design::sessions:
        return made(sessions_, 1, [this](Machine& m) { return m.apart(changes_, kLaunches, kSamples); });
      case Design::pairs:
        return made(pairs_, 2, [this](Machine& m) { return m.interleaved(changes_, kLaunches, kSamples); });
      case Design::screened: break;
    }
    return made(screen_, 3, [this](Machine& m) { return m.interleaved(changes_, kScreenPairs, kSamples); });
  }
  /// Pairs of all cases, for simplicity: a rule looks at those that it wants.
  [[nodiscard]] const Sessions& fresh() {
    return made(fresh_, 4, [this](Machine& m) { return m.interleaved(changes_, kFreshPairs, kSamples); });
  }

 private:
  template <class Make>
  const Sessions& made(std::optional<Sessions>& sessions, std::uint64_t stream, Make make) {
    if (!sessions) {
      Machine machine(scenario_.noise, seed_ * 16 + stream);
      sessions = make(machine);
    }
    return *sessions;
  }

  const Scenario& scenario_;
  std::uint64_t seed_;
  std::vector<double> changes_;
  std::optional<Sessions> sessions_;
  std::optional<Sessions> pairs_;
  std::optional<Sessions> screen_;
  std::optional<Sessions> fresh_;
};

void add(const Finding& finding, const Scenario& scenario, Tally& tally) {
  tally.refused += finding.refused ? 1 : 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kCases); ++i) {
    if (!finding.changed[i]) continue;
    ++(static_cast<int>(i) < scenario.slower ? tally.found : tally.false_alarms);
  }
}

std::string cell(const Scenario& scenario, const Tally& tally) {
  const auto number = [](double value) {
    return value < 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
  };
  const std::string refused = tally.refused > 0 ? fmt::format(", {:.0f} % refused", 100 * tally.refused) : "";
  if (scenario.slower == 0) return number(tally.false_alarms) + refused;
  return fmt::format("{} · {}", number(tally.found), number(tally.false_alarms));
}

}  // namespace

std::vector<Scenario> scenarios() {
  return {
      {"same build", 0, 0, {}},         {"6 slower by 3 %", 6, 0.03, {}},
      {"6 slower by 5 %", 6, 0.05, {}}, {"6 by 5 %, hiccups", 6, 0.05, {.hiccup_share = 0.05}},
      {"1 slower by 5 %", 1, 0.05, {}}, {"clock 2 % lower", 0, 0, {.clock_step = 0.02}},
  };
}

std::vector<Tally> simulate(const std::vector<Rule>& rules, const Scenario& scenario, int rounds) {
  std::vector<Tally> tallies(rules.size());
  for (int round = 0; round < rounds; ++round) {
    Times times(scenario, static_cast<std::uint64_t>(round + 1));
    static const Sessions none;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const Design design = rules[i].design;
      const Sessions& second = design == Design::screened ? times.fresh() : none;
      add(rules[i].decide(times.of(design), second), scenario, tallies[i]);
    }
  }
  for (Tally& tally : tallies) {
    for (double* value : {&tally.found, &tally.false_alarms, &tally.refused}) *value /= rounds;
  }
  return tallies;
}

std::string simulation_table(int rounds) {
  const std::vector<Rule> all = rules();
  std::vector<std::string> rows;
  std::string head = "| rule |";
  std::string line = "|---|";
  for (const Rule& rule : all) rows.push_back(fmt::format("| {} |", rule.name));
  for (const Scenario& scenario : scenarios()) {
    head += fmt::format(" {} |", scenario.name);
    line += "---|";
    const std::vector<Tally> tallies = simulate(all, scenario, rounds);
    for (std::size_t i = 0; i < all.size(); ++i) rows[i] += fmt::format(" {} |", cell(scenario, tallies[i]));
  }
  std::string text = head + '\n' + line + '\n';
  for (const std::string& row : rows) text += row + '\n';
  return text;
}

}  // namespace mla::suites
