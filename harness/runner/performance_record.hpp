// The `performance` object of a report's case.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "harness/providers/provider.hpp"
#include "harness/runner/cost.hpp"
#include "harness/timing/ceilings.hpp"
#include "harness/timing/sample.hpp"

namespace mla::harness {

/// Samples, their median with its interval, the rates that follow from `cost`, and the share of the nearer of the
/// device's measured ceilings (memory read or float32 matmul on a CPU), where both are known.
[[nodiscard]] nlohmann::ordered_json performance_json(const SampleResult& samples, const std::vector<StageTime>& stages,
                                                      const Cost& cost, std::string_view device,
                                                      std::span<const Ceiling> ceilings);

}  // namespace mla::harness
