#include "harness/providers/worker_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <string>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

int checked(int workers) {
  if (workers < 1) throw UsageError("workers", std::to_string(workers), "must be at least 1");
  return workers;
}

}  // namespace

int available_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more than 1024 processors, where the standard library's count has to do.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

WorkerPool::WorkerPool(int workers) : gate_(checked(workers)) {
  threads_.reserve(static_cast<std::size_t>(workers - 1));
  for (int worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
}

WorkerPool::~WorkerPool() {
  task_ = nullptr;
  gate_.arrive_and_wait();
}

void WorkerPool::run(const std::function<void(int)>& task) {
  task_ = &task;
  gate_.arrive_and_wait();
  task(0);
  gate_.arrive_and_wait();
}

void WorkerPool::serve(int worker) {
  for (;;) {
    gate_.arrive_and_wait();
    if (task_ == nullptr) return;
    (*task_)(worker);
    gate_.arrive_and_wait();
  }
}

}  // namespace mla::harness
