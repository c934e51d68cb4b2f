// Ways of deciding which cases became slower or faster: those of public tools as they are described, and this
// project's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "suites/statistics/noise.hpp"

namespace mla::suites {

/// How a rule wants its times taken.
enum class Design : std::uint8_t {
  one_launch,  // one launch a side
  sessions,    // twelve launches a side, one session after the other
  pairs,       // twelve pairs
  screened,    // six pairs of every case, and fresh ones as long as these leave it open
};

struct Finding {
  std::vector<bool> changed;  // by case
  bool refused = false;       // the rule says that these times cannot be compared
};

struct Rule {
  std::string name;
  Design design;
  /// The last kCanaries cases are the same code in both builds; a rule may know that. With Design::screened the second
  /// argument holds the fresh pairs.
  std::function<Finding(const Sessions&, const Sessions&)> decide;
};

inline constexpr int kCanaries = 10;

[[nodiscard]] std::vector<Rule> rules();

}  // namespace mla::suites
