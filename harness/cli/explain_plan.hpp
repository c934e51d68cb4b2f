// The split-KV schedule part of `explain`.
#pragma once

#include "harness/problem/decode_problem.hpp"
#include "mla/plan.hpp"

namespace mla::harness {

/// Workers assumed where the problem names none: the compute units of an MI355X.
inline constexpr int kExplainedWorkers = 256;

/// The plan that the kernels would be given for `problem`, made by the same planner on the host from its lengths.
/// Throws UsageError where the planner refuses the problem.
[[nodiscard]] PlanSummary plan_of(const DecodeProblem& problem);

}  // namespace mla::harness
