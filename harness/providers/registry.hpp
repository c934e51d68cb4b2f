// The providers that this build knows of.
#pragma once

#include <string>
#include <vector>

#include "harness/providers/provider.hpp"

namespace mla::harness {

/// A provider that was left out of this build.
struct AbsentProvider {
  std::string name;
  std::string reason;
};

/// The providers built in, in the order in which they are listed and run.
[[nodiscard]] ProviderList builtin_providers();

/// Those that could have been, and why they are not.
[[nodiscard]] std::vector<AbsentProvider> absent_providers();

}  // namespace mla::harness
