// One decode problem on the fp8 decode kernels of vLLM's FlashMLA.
#pragma once

#include "harness/providers/hip/device_execution.hpp"
#include "harness/providers/peers/block_table.hpp"
#include "harness/providers/peers/vllm_flashmla/launch.hpp"

namespace mla::harness::vllm_flashmla {

class Execution final : public hip::DeviceExecution {
 public:
  Execution(const DecodeCase& problem_case, hip::Planning planning);

  /// q and cache in e4m3fn, pages of 64 tokens, one q_len for all requests, and no row without a visible token.
  [[nodiscard]] static Support supports(const DecodeProblem& problem);

  [[nodiscard]] KernelInfo kernel() const override;
  [[nodiscard]] Precision precision() const override;

 private:
  void enqueue_plan() override;
  void enqueue_decode(const DecodeInputs& inputs) override;
  void upload_scales();
  void allocate_scratch();

  peers::BlockTable table_;
  hip::DeviceMemory scales_;
  hip::DeviceMemory schedule_, splits_, partial_out_, partial_lse_;
  int parts_ = 0;
  Batch batch_;
  Scratch scratch_;
};

}  // namespace mla::harness::vllm_flashmla
