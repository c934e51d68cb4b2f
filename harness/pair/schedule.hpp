// In which order the pairs of a stage are run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/pair/launch.hpp"

namespace mla::harness {

/// Two launches of one case, one after the other.
struct ScheduledPair {
  std::string key;
  int pair = 0;  // of the case in this stage
  bool base_first = true;
};

/// `pairs` rounds over all cases, their pairs numbered from `first`: each round has every case once, in a random order
/// of its own, so that no case always follows the same neighbour or meets the same phase of a drift. The order within a
/// case's pairs alternates, AB, BA, AB, ...; which comes first is random too. The same seed gives the same schedule on
/// every machine, and another one for each stage and each `first`.
[[nodiscard]] std::vector<ScheduledPair> schedule(const std::vector<std::string>& keys, reports::PairStage stage,
                                                  int first, int pairs, std::uint64_t seed);

}  // namespace mla::harness
