// One decode problem on this project's kernels.
#pragma once

#include <optional>

#include "harness/providers/hip/device_execution.hpp"
#include "mla/api.hpp"

namespace mla::harness::hip {

enum class Launch : std::uint8_t {
  eager,  // plan, decode and merge put on the stream one by one
  graph,  // captured once with an empty batch and NaN queries in the same buffers, then replayed for the problem
};

class Execution final : public DeviceExecution {
 public:
  Execution(const DecodeCase& problem_case, Launch launch, Planning planning);

  [[nodiscard]] KernelInfo kernel() const override;
  [[nodiscard]] Precision precision() const override;

 private:
  void enqueue_plan() override;
  void enqueue_decode(const DecodeInputs& inputs) override;
  void enqueue_step() override;

  DeviceModel model_;
  PlanLimits limits_;
  std::size_t workspace_bytes_ = 0;
  DeviceMemory workspace_;
  std::optional<Graph> step_;  // plan + decode + merge
};

}  // namespace mla::harness::hip
