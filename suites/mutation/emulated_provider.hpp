// The emulated kernel behind the provider interface: `clean`, and one provider a fault under the fault's name.
#pragma once

#include "harness/providers/provider.hpp"
#include "suites/mutation/fault.hpp"

namespace mla::mutation {

[[nodiscard]] std::unique_ptr<harness::Provider> emulated_provider(const Fault& fault);

/// The kernel without a fault.
[[nodiscard]] const Fault& clean();

/// `clean` and all faults.
[[nodiscard]] harness::ProviderList emulated_providers();

}  // namespace mla::mutation
