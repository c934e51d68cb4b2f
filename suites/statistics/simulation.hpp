// Rules on simulated machines: how many false alarms, how many changes found.
#pragma once

#include <string>
#include <vector>

#include "suites/statistics/rules.hpp"

namespace mla::suites {

/// What is different between the two builds, and what is wrong with the machine.
struct Scenario {
  std::string name;
  int slower = 0;       // cases of kCases
  double slowdown = 0;  // share of the time
  Noise noise = {};
};

inline constexpr int kCases = 300;
[[nodiscard]] std::vector<Scenario> scenarios();

/// Averages over `rounds` comparisons.
struct Tally {
  double found = 0;         // of Scenario::slower
  double false_alarms = 0;  // of the other cases
  double refused = 0;       // share of the comparisons
};

/// One tally a rule, in their order. Rules with one design see the same times.
[[nodiscard]] std::vector<Tally> simulate(const std::vector<Rule>& rules, const Scenario& scenario, int rounds);

/// A row a rule, a column a scenario: Markdown.
[[nodiscard]] std::string simulation_table(int rounds);

}  // namespace mla::suites
