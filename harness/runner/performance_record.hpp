// The `performance` object of a report's case.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/providers/provider.hpp"
#include "harness/runner/cost.hpp"
#include "harness/timing/ceilings.hpp"
#include "harness/timing/sample.hpp"

namespace mla::harness {

/// What was measured of one case in one process.
struct Measurement {
  SampleResult samples;
  std::string timer;
  std::string cache;
  std::vector<StageTime> stages;
  std::string_view device;  // "cpu" or "gpu"
};

/// Samples, their median with its interval, the rates that follow from `cost`, and the share of the nearer of the
/// device's measured ceilings (memory read, or float32 multiply-adds on a CPU and matmul of the operands' type on a
/// GPU), where both are known.
[[nodiscard]] nlohmann::ordered_json performance_json(const Measurement& measurement, const Cost& cost,
                                                      std::span<const Ceiling> ceilings);

}  // namespace mla::harness
