#include "harness/providers/peers/vllm_flashmla/execution.hpp"

#include <array>
#include <span>
#include <string>

#include "harness/providers/peers/vllm_flashmla/digest.hpp"
#include "harness/providers/peers/vllm_flashmla/version.hpp"

namespace mla::harness::vllm_flashmla {

namespace {

// Its planner has room for 4096 numbers of splits, one more than there are requests.
constexpr int kMostRequests = 4095;

template <class T>
T* address(const hip::DeviceMemory& memory) {
  return static_cast<T*>(static_cast<void*>(memory.data()));
}

}  // namespace

Support Execution::supports(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  if (resolve(fields.q_type, DataType::e4m3fn) != DataType::e4m3fn ||
      resolve(fields.kv_type, DataType::e4m3fn) != DataType::e4m3fn) {
    return {SkipReason::unsupported_dtype, "this kernel of vLLM's FlashMLA takes q and the cache in e4m3fn alone"};
  }
  return peers::supports_block_table(problem, kMostRequests);
}

Execution::Execution(const DecodeCase& problem_case, hip::Planning planning)
    : DeviceExecution(problem_case, planning), table_(problem_case) {
  const DecodeProblem& problem = problem_case.problem;
  upload_inputs();
  batch_.requests = problem.batch();
  batch_.q_len = problem.q_len(0);
  batch_.heads = problem.fields().heads;
  batch_.causal = problem.fields().causal;
  batch_.sm_scale = inputs().sm_scale;
  batch_.q = inputs().q.data;
  batch_.pages = static_cast<int>(inputs().kv.num_pages);
  batch_.kv_page_stride = inputs().kv.page_stride;
  batch_.kv_token_stride = inputs().kv.token_stride;
  batch_.block_table = table_.pages();
  batch_.pages_per_request = table_.width();
  batch_.kv_lens = table_.kv_lens();
  batch_.out = outputs().out.data;
  batch_.lse = outputs().lse.data;
  parts_ = parts(batch_.q_len, batch_.heads);
  upload_scales();
  allocate_scratch();
}

void Execution::upload_scales() {
  const std::array<float, 2> scales = {inputs().q_scale, inputs().kv_scale};
  scales_ = hip::DeviceMemory(sizeof scales);
  hip::upload(scales_.data(), std::as_bytes(std::span(scales)));
  batch_.q_scale = address<float>(scales_);
  batch_.kv_scale = batch_.q_scale + 1;
}

void Execution::allocate_scratch() {
  const ScratchBytes bytes = scratch_bytes(batch_, parts_);
  schedule_ = peers::poisoned_scratch(bytes.schedule);
  splits_ = peers::poisoned_scratch(bytes.splits);
  partial_out_ = peers::poisoned_scratch(bytes.partial_out);
  partial_lse_ = peers::poisoned_scratch(bytes.partial_lse);
  scratch_ = {address<int>(schedule_), address<int>(splits_), address<float>(partial_out_),
              address<float>(partial_lse_)};
}

void Execution::enqueue_plan() {
  launch_plan(batch_, scratch_, parts_, stream().get());
}

void Execution::enqueue_decode(const DecodeInputs& inputs) {
  launch_decode(batch_, inputs.kv.data, scratch_, parts_, stream().get());
}

KernelInfo Execution::kernel() const {
  return {"vLLM FlashMLA dense fp8 decode", std::string("sm90 fp8, commit ") + kCommit, std::string(kSourceDigest)};
}

// P, at most 1 and not scaled, is rounded to e4m3 for the product with V: half a subnormal step is 2^-10. Its row sum
// adds the float32 values; parts of a split request are float32.
Precision Execution::precision() const {
  return {.probabilities = DataType::e4m3fn,
          .row_sum_of_rounded = false,
          .partial_output = DataType::f32,
          .probability_floor = 0x1p-10F};
}

}  // namespace mla::harness::vllm_flashmla
