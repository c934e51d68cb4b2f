// Provider "eigen": the throughput subject on a CPU machine and the simplest model of the algorithm.
#pragma once

#include <memory>

#include "harness/providers/provider.hpp"
#include "harness/providers/worker_pool.hpp"

namespace mla::harness {

/// Runs every decode problem, on `threads` cores.
[[nodiscard]] std::unique_ptr<Provider> make_eigen_provider(int threads = available_cores());

}  // namespace mla::harness
