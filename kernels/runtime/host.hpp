// Launches on the CPU, in place of a GPU runtime.
#pragma once

#include <cstdint>

#include "kernels/runtime/host/graph.hpp"
#include "kernels/runtime/host/memory.hpp"
#include "kernels/runtime/host/workgroup.hpp"

namespace mla::host {

struct LaunchOptions {
  std::uint64_t seed = 0;  // of the order in which workgroups, waves and lanes run
  int threads = 1;         // workgroups at work at the same time
  int wave_width = 64;
  Memory memory;
  Graph* capture = nullptr;  // where set, launches are added to it and not run
};

namespace detail {

/// Workgroups [0, count) in an order drawn from the seed, on `options.threads` threads. Rethrows the first failure.
void run_workgroups(int count, const Workgroup::Shape& shape, const LaunchOptions& options, void (*body)(const void*),
                    const void* context);

}  // namespace detail

/// Runs the kernel to its end, or captures it. Throws ExecutionError for an access outside `options.memory` and for a
/// deadlock.
template <class Kernel>
void launch(int workgroups, const typename Kernel::Arguments& arguments, const LaunchOptions& options) {
  if (options.capture != nullptr) {
    options.capture->add(
        [workgroups, arguments](const LaunchOptions& replay) { launch<Kernel>(workgroups, arguments, replay); });
    return;
  }
  const Workgroup::Shape shape{Kernel::kThreads, options.wave_width, static_cast<std::size_t>(Kernel::kSharedBytes)};
  const auto body = [](const void* context) { Kernel::run(*static_cast<const typename Kernel::Arguments*>(context)); };
  detail::run_workgroups(workgroups, shape, options, body, &arguments);
}

}  // namespace mla::host
