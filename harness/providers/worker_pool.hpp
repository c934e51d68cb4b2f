// Threads that stay alive between launches, so that a launch costs microseconds.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace mla::harness {

/// Cores that this process may run on (its affinity mask), at least 1.
[[nodiscard]] int available_cores();

/// A fixed team of workers. Not OpenMP: a process forked after its parent entered a parallel region hangs in libgomp's
/// next one, and every case of a sweep runs in a process of its own.
class WorkerPool {
 public:
  /// Throws UsageError unless `workers` >= 1.
  explicit WorkerPool(int workers = available_cores());
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;  // the threads refer to this object
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls task(w) once for every worker w in [0, size()), the caller being worker 0, and returns when all have
  /// returned. `task` must not throw.
  void run(const std::function<void(int)>& task);

 private:
  void serve(int worker);

  std::barrier<> gate_;                             // passed by all workers before and after each task
  const std::function<void(int)>* task_ = nullptr;  // null: leave
  std::vector<std::jthread> threads_;
};

}  // namespace mla::harness
