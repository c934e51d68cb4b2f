// Seeded random batches for the planner: the ranges of the contract, with weight on what has broken planners.
#pragma once

#include <cstdint>

#include "suites/plan/plan_case.hpp"

namespace mla::test {

/// Batches of 1..4096 requests, lengths 0..131072, q_len 0..8, 1..304 workers, all page sizes. Mostly small batches.
[[nodiscard]] PlanCase random_case(std::uint64_t seed);

}  // namespace mla::test
