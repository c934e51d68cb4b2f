// One decode problem on FlashInfer's MLA kernels for Hopper.
#pragma once

#include <memory>

#include "harness/providers/hip/device_execution.hpp"
#include "harness/providers/peers/flashinfer/launch.hpp"

namespace mla::harness::flashinfer {

/// Frees page-locked host memory.
struct FreePinned {
  void operator()(void* address) const { (void)hipHostFree(address); }
};

class Execution final : public hip::DeviceExecution {
 public:
  Execution(const DecodeCase& problem_case, hip::Planning planning);

  /// q in bf16, the cache in bf16 or e4m3fn with a scale that is a power of two, dense layouts.
  [[nodiscard]] static Support supports(const DecodeProblem& problem);

  [[nodiscard]] KernelInfo kernel() const override;
  [[nodiscard]] Precision precision() const override;

 private:
  void enqueue_plan() override;
  void enqueue_decode(const DecodeInputs& inputs) override;
  [[nodiscard]] bool plans_on_host() const override { return true; }

  HostBatch batch_;
  Tensors tensors_;
  hip::DeviceMemory floats_, ints_;
  std::unique_ptr<void, FreePinned> pinned_;
  Workspace workspace_;
  Plan plan_;
};

}  // namespace mla::harness::flashinfer
