// The `performance` object of a report's case.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "harness/runner/cost.hpp"
#include "harness/runner/measurement.hpp"
#include "harness/timing/ceilings.hpp"

namespace mla::harness {

/// Samples, their median with its interval, the rates that follow from `cost`, and the share of the nearer of the
/// device's measured ceilings (memory read, or float32 multiply-adds on a CPU and matmul of the operands' type on a
/// GPU), where both are known.
[[nodiscard]] nlohmann::ordered_json performance_json(const Measurement& measurement, const Cost& cost,
                                                      std::span<const Ceiling> ceilings);

/// {"source", "start", "end"} of a measurement, null where no driver told.
[[nodiscard]] nlohmann::ordered_json clocks_json(const Measurement& measurement);

}  // namespace mla::harness
