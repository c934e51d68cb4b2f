// What the compiled loop lets one expect of a problem on a GPU that nobody has at hand. An estimate, and marked as one.
#pragma once

#include <cstdint>
#include <string>

#include "harness/problem/decode_problem.hpp"
#include "mla/plan.hpp"
#include "reports/isa_report.hpp"

namespace mla::harness {

/// Lower bounds of the time of decode on an MI355X, in microseconds. The longest is the estimate.
struct Mi355Estimate {
  std::string kernel;       // "decode.bf16.bf16.16"
  double memory_us = 0;     // KV as often as the plan reads it, and partial results, at 8 TB/s
  double matrix_us = 0;     // products of all turns of the loop, padding included, at 2.5 PFLOP/s
  double issue_us = 0;      // instructions of the longest worker's turns: one wave a SIMD issues one in 4 cycles
  std::int64_t turns = 0;   // of the loop, a tile of KV each, of the worker that has most
  double instructions = 0;  // of a turn, a wave
};

/// From the hot loop of the gfx950 kernel that serves the plan's tile. Throws UsageError where `isa` has no such kernel
/// or one without a loop.
[[nodiscard]] Mi355Estimate estimate_on_mi355(const DecodeProblem& problem, const PlanSummary& plan,
                                              const reports::IsaReport& isa);

}  // namespace mla::harness
