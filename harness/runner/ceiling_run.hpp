// Ceilings are measured in a child, like everything that uses threads.
#pragma once

#include <vector>

#include "harness/runner/child_process.hpp"
#include "harness/timing/ceilings.hpp"

namespace mla::harness {

/// Measures the ceilings of this machine and its GPU. A ceiling that could not be measured has no value and a note that
/// says why.
[[nodiscard]] std::vector<Ceiling> measure_ceilings_in_child(const ChildLimits& limits);

}  // namespace mla::harness
