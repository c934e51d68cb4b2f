// Provider "host": the GPU kernels' own source, executed on the CPU by the rules of a GPU target.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/providers/provider.hpp"

namespace mla::harness {

struct HostOptions {
  /// Of the order in which lanes run. Every launch of an execution takes another order, so that the runner's repeats
  /// compare different orders bit by bit.
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores
};

/// A request of one token takes 1.3 ms of CPU time a launch, and a case at least seven launches.
inline constexpr int kMostHostRequests = 1 << 14;

/// Executes gfx950's kernels, or gfx942's where the problem names e4m3fnuz. A correctness target: some thousand times
/// slower than a GPU.
[[nodiscard]] std::unique_ptr<Provider> make_host_provider(const HostOptions& options = {});

}  // namespace mla::harness
