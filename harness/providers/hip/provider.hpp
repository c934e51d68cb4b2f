// The product's kernels on a GPU, behind the provider interface.
#pragma once

#include <string_view>

#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Adds the providers of this build's GPU target: `hip` launches plan, decode and merge on a stream; `hip-graph`
/// captures them once over other lengths, page tables and queries, then replays the graph for the problem. Both are
/// timed without planning; `hip-plan` is `hip` timed with it. Adds nothing where the build has no GPU target.
void add_hip_providers(ProviderList& providers);

/// Why add_hip_providers adds nothing; empty where it adds.
[[nodiscard]] std::string_view hip_absence();

}  // namespace mla::harness
