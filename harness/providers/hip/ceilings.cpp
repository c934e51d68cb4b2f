#include "harness/providers/hip/ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "harness/providers/hip/device.hpp"
#include "kernels/ceilings/launches.hpp"
#include "mla/api.hpp"

namespace mla::harness::hip {

namespace {

using Clock = std::chrono::steady_clock;

// Enough waves to hide the latency of memory behind each other.
constexpr int kReadWorkgroupsAUnit = 8;
constexpr int kLaunches = 200;

class Measurement {
 public:
  explicit Measurement(const CeilingRun& run) : run_(run), sink_(sizeof(std::uint32_t)) {
    const Status status = describe_device(&model_);
    if (!status.ok()) throw EnvironmentError(message(status));
    check(launches_.prepare(), "hipFuncSetAttribute");
    units_ = run.units > 0 ? run.units : model_.num_workers;
  }

  Ceiling memory_read() {
    const DeviceMemory memory(run_.bytes);
    check(hipMemset(memory.data(), 1, memory.size()), "hipMemset");
    const int workgroups = units_ * kReadWorkgroupsAUnit;
    const double ns = best_ns(
        [&] { check(launches_.read(memory.data(), memory.size(), workgroups, sink(), stream_.get()), "read"); });
    return {"memory_read", "gpu", static_cast<double>(memory.size()) / ns, "GB/s",
            fmt::format("{} MiB by {} workgroups, best pass", memory.size() >> 20U, workgroups)};
  }

  Ceiling memory_copy() {
    const DeviceMemory from(run_.bytes / 2);
    const DeviceMemory to(run_.bytes / 2);
    check(hipMemset(from.data(), 1, from.size()), "hipMemset");
    const double ns = best_ns([&] {
      check(hipMemcpyAsync(to.data(), from.data(), from.size(), hipMemcpyDeviceToDevice, stream_.get()),
            "hipMemcpyAsync");
    });
    return {"memory_copy", "gpu", 2 * static_cast<double>(from.size()) / ns, "GB/s",
            fmt::format("{} MiB by the runtime, read and written bytes, best pass", from.size() >> 20U)};
  }

  Ceiling matmul(DataType type) {
    const double ns =
        best_ns([&] { check(launches_.multiply(type, run_.steps, units_, sink(), stream_.get()), "multiply"); });
    const double flops = launches_.multiply_flops(type) * run_.steps * units_;
    return {type == DataType::bf16 ? "matmul_bf16" : "matmul_fp8", "gpu", flops / ns, "GFLOP/s",
            fmt::format("products of {} without loads on {} units, best pass", name_of(type), units_)};
  }

  Ceiling launch_eager() {
    const double ns = best_ns([&] { enqueue_empty(); });
    return {"launch_eager", "gpu", ns / kLaunches, "ns", "an empty launch of many in a row, best pass"};
  }

  Ceiling launch_graph() {
    const Graph graph(stream_, [&] { enqueue_empty(); });
    const double ns = best_ns([&] { graph.launch(stream_); });
    return {"launch_graph", "gpu", ns / kLaunches, "ns", "an empty launch of many in a row of a graph, best pass"};
  }

  [[nodiscard]] DataType fp8() const { return model_.fp8; }

 private:
  [[nodiscard]] std::uint32_t* sink() const { return static_cast<std::uint32_t*>(static_cast<void*>(sink_.data())); }

  void enqueue_empty() {
    for (int i = 0; i < kLaunches; ++i) check(launches_.empty(stream_.get()), "empty launch");
  }

  /// Of the passes that fit into the time: nothing disturbed the quickest one. The first, which warms up, does not
  /// count.
  template <class Enqueue>
  double best_ns(const Enqueue& enqueue) {
    (void)timer_.measure(stream_, enqueue);
    double best = std::numeric_limits<double>::infinity();
    const auto end = Clock::now() + std::chrono::duration<double>(run_.seconds);
    do {
      best = std::min(best, timer_.measure(stream_, enqueue));
    } while (Clock::now() < end);
    return best;
  }

  CeilingRun run_;
  const ceilings::Launches& launches_ = ceilings::launches();
  DeviceModel model_;
  int units_ = 0;
  Stream stream_;
  EventTimer timer_;
  DeviceMemory sink_;
};

}  // namespace

std::vector<Ceiling> measure_ceilings(const CeilingRun& run) {
  Measurement measurement(run);
  return {measurement.memory_read(),          measurement.memory_copy(),
          measurement.matmul(DataType::bf16), measurement.matmul(measurement.fp8()),
          measurement.launch_eager(),         measurement.launch_graph()};
}

}  // namespace mla::harness::hip
