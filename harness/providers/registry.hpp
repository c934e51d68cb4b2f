// The providers that this build knows of, and those of the modules beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/core/ceiling.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// A provider that was left out of this build, or a module that is not used.
struct AbsentProvider {
  std::string name;
  std::string reason;
};

/// The providers built in, then those of modules, in the order in which they are listed and run.
[[nodiscard]] ProviderList builtin_providers();

/// Those that could have been, and why they are not.
[[nodiscard]] std::vector<AbsentProvider> absent_providers();

/// What the runtime of this build's GPU target says of its device; empty without such a target. Starts the runtime: not
/// for a process that runs cases.
[[nodiscard]] std::string gpu_device();

/// Measures the bf16 matrix multiplication rate of the CPU in GFLOP/s within about the seconds given; 0 where nothing
/// in this build can. Empty where no provider brings such a product.
[[nodiscard]] std::function<double(double)> bf16_matmul_probe();

/// Measured ceilings of the devices that providers use besides the CPU. Starts their runtimes: not before a fork.
[[nodiscard]] std::vector<Ceiling> device_ceilings();

}  // namespace mla::harness
