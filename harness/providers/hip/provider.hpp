// The product's kernels on a GPU, behind the provider interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/ceiling.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Adds the providers of this build's GPU target: `hip` launches plan, decode and merge on a stream; `hip-graph`
/// captures them once over other lengths, page tables and queries, then replays the graph for the problem. Both are
/// timed without planning; `hip-plan` is `hip` timed with it. Adds nothing where the build has no GPU target.
void add_hip_providers(ProviderList& providers);

/// Measured ceilings of the GPU that these providers use; one without a value, whose note says why, where there is a
/// GPU but nothing could be measured; none in a build or on a machine without one.
[[nodiscard]] std::vector<Ceiling> hip_ceilings();

/// Why add_hip_providers adds nothing; empty where it adds.
[[nodiscard]] std::string_view hip_absence();

/// What the runtime says: the device's name and architecture, or its error ("hipErrorNoDevice: ..."). Empty where the
/// build has no GPU target. Starts the runtime: not for a process that forks to run cases.
[[nodiscard]] std::string hip_device();

}  // namespace mla::harness
