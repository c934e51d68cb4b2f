// One process launch of one case, measured and not checked: the unit that comparisons count.
#pragma once

#include <string>

#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"
#include "harness/runner/measurement.hpp"

namespace mla::harness {

/// Makes the inputs in memory of this process, prepares the provider and measures. The result is not looked at: whoever
/// asks has had the case checked before. Returns the line that schema mla-harness-launch describes. Throws UsageError
/// where the provider does not support the problem, and what the provider throws. With `turns` it measures in turns
/// with another process (see measure).
[[nodiscard]] std::string measure_launch(const DecodeProblem& problem, const Provider& provider,
                                         const MeasureOptions& options, Turns* turns = nullptr);

}  // namespace mla::harness
