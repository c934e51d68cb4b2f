// One decode problem on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/providers/hip/device.hpp"
#include "harness/providers/provider.hpp"
#include "mla/api.hpp"

namespace mla::harness::hip {

enum class Launch : std::uint8_t {
  eager,  // plan, decode and merge put on the stream one by one
  graph,  // captured once with an empty batch and NaN queries in the same buffers, then replayed for the problem
};

/// Holds device copies of all buffers, guard zones included, so that canaries guard the device's memory too.
class Execution final : public DecodeExecution {
 public:
  Execution(const DecodeCase& problem_case, Launch launch);

  void run() override;
  void fetch() override;
  [[nodiscard]] KernelInfo kernel() const override;
  [[nodiscard]] Precision precision() const override;
  [[nodiscard]] double timed_run() override;
  [[nodiscard]] std::string timer() const override { return "hip_event"; }
  [[nodiscard]] std::string cache_regime() const override;
  [[nodiscard]] std::vector<StageTime> stage_times() override;

 private:
  struct DeviceBuffer {
    Buffer host;
    DeviceMemory memory;
    [[nodiscard]] Buffer view() const { return {host.name, memory.span()}; }
  };

  void upload_inputs();
  void upload_pages();
  void reset_outputs();
  void enqueue_plan();
  void enqueue_decode(const DecodeInputs& inputs);
  [[nodiscard]] DecodeInputs inputs_with(const DeviceMemory& kv) const;
  void prepare_cold_copies();

  DecodeCase case_;
  Launch launch_;
  DeviceModel model_;
  PlanLimits limits_;
  Stream stream_;
  EventTimer timer_;
  DeviceBuffer q_, kv_, qo_indptr_, kv_indptr_, kv_indices_, kv_last_page_len_, out_, lse_;
  std::size_t workspace_bytes_ = 0;
  DeviceMemory workspace_;
  DecodeInputs inputs_;
  DecodeOutputs outputs_;
  std::vector<DeviceMemory> cold_copies_;
  std::optional<Graph> step_;       // plan + decode + merge
  std::optional<Graph> cold_pass_;  // decode + merge over every copy of the KV pool
};

}  // namespace mla::harness::hip
