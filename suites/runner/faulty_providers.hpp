// Providers that fail on purpose, one way each: what the runner must survive and report.
#pragma once

#include "harness/providers/provider.hpp"

namespace mla::harness {

/// good, wrong-value, nan, out-of-bounds, writes-inputs, writes-past-inputs, unrepeatable,
/// keeps-first-answer, reads-past-inputs, adds-to-output, unwritten, throws, aborts,
/// segfaults, exits, hangs.
[[nodiscard]] ProviderList faulty_providers();

}  // namespace mla::harness
