#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "kernels/runtime/host.hpp"

namespace mla::host::detail {

namespace {

std::vector<int> shuffled(int count, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(order, random);
  return order;
}

}  // namespace

void run_workgroups(int count, const Workgroup::Shape& shape, const LaunchOptions& options, void (*body)(const void*),
                    const void* context) {
  const std::vector<int> order = shuffled(count, options.seed);
  std::atomic<int> taken{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Workgroup workgroup(shape, options.memory);
      for (int i = taken++; i < count; i = taken++) {
        workgroup.run(order[static_cast<std::size_t>(i)], options.seed, body, context);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      taken = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min(options.threads, count); ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mla::host::detail
