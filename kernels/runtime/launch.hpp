// One `__global__` entry for every kernel: a kernel is a type with `Arguments`, `kThreads`, `kSharedBytes` and
// `static void run(const Arguments&)`.
#pragma once

#include "kernels/runtime/runtime.hpp"
#include "kernels/runtime/target.hpp"

namespace mla::runtime {

#if defined(__CUDACC__)
template <class Kernel>
MLA_GLOBAL void __launch_bounds__(Kernel::kThreads, 1)
    entry(const __grid_constant__ typename Kernel::Arguments arguments) {
  Kernel::run(arguments);
}
#elif defined(__HIP__)
/// A function beside the arguments' type, if there is one, moves what only vector arithmetic reads out of the scalar
/// registers: the compiler keeps all arguments there, and a kernel that needs these for other things would spill.
template <class Kernel>
MLA_GLOBAL void __launch_bounds__(Kernel::kThreads, 1) entry(const typename Kernel::Arguments arguments) {
  using Arguments = typename Kernel::Arguments;
  constexpr const Kernel* kTag = nullptr;
  if constexpr (requires(Arguments & own) { free_scalar_registers(own, kTag); }) {
    Arguments own = arguments;
    free_scalar_registers(own, kTag);
    Kernel::run(own);
  } else {
    Kernel::run(arguments);
  }
}
#endif

#if defined(__CUDACC__) || defined(__HIP__)

/// Must be called once per kernel and device before the first launch, outside of any capture.
template <class Kernel>
hipError_t prepare() {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(&entry<Kernel>), hipFuncAttributeMaxDynamicSharedMemorySize,
                             Kernel::kSharedBytes);
}

/// `cooperative`: all workgroups are resident together, or the launch fails. `kCluster`: workgroups that share their
/// shared memory, where the target has that; `workgroups` is a multiple of it.
template <class Kernel, int kCluster = 1>
hipError_t launch(int workgroups, const typename Kernel::Arguments& arguments, hipStream_t stream,
                  bool cooperative = false) {
  auto copy = arguments;
  void* parameters[] = {&copy};
  const auto* function = reinterpret_cast<const void*>(&entry<Kernel>);
  const dim3 grid(static_cast<unsigned>(workgroups));
  const dim3 block(Kernel::kThreads);
  if constexpr (kCluster > 1) {
    return launch_clusters(function, grid, block, parameters, Kernel::kSharedBytes, stream, kCluster, cooperative);
  } else if (cooperative) {
    return hipLaunchCooperativeKernel(function, grid, block, parameters, Kernel::kSharedBytes, stream);
  } else {
    return hipLaunchKernel(function, grid, block, parameters, Kernel::kSharedBytes, stream);
  }
}

#elif defined(MLA_TARGET_HOST)

template <class Kernel>
hipError_t prepare() {
  return hipSuccess;
}

/// Returns when the kernel has ended, or is captured; a violation of the device's rules is thrown as
/// host::ExecutionError.
template <class Kernel, int kCluster = 1>
hipError_t launch(int workgroups, const typename Kernel::Arguments& arguments, hipStream_t stream,
                  bool /*cooperative*/ = false) {
  static_assert(kCluster == 1, "this target has no clusters");
  host::launch<Kernel>(workgroups, arguments, stream != nullptr ? *stream : host::LaunchOptions{});
  return hipSuccess;
}

#endif

}  // namespace mla::runtime
