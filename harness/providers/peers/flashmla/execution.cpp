#include "harness/providers/peers/flashmla/execution.hpp"

#include <string>

#include "harness/providers/peers/flashmla/digest.hpp"
#include "harness/providers/peers/flashmla/version.hpp"

namespace mla::harness::flashmla {

namespace {

// Its planner keeps five numbers a request in the 227 KiB of shared memory that a block of Hopper can have.
constexpr int kMostRequests = 11000;

template <class T>
T* address(const hip::DeviceMemory& memory) {
  return static_cast<T*>(static_cast<void*>(memory.data()));
}

}  // namespace

Support Execution::supports(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  if (fields.q_type != ElementType::bf16 || fields.kv_type != ElementType::bf16) {
    return {SkipReason::unsupported_dtype, "FlashMLA's dense decode takes bf16 alone"};
  }
  if (fields.kv_scale != 1) return {SkipReason::unsupported_dtype, "FlashMLA scales no bf16 cache"};
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
  batch_.sm_scale = inputs().sm_scale * inputs().q_scale;
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
  allocate_scratch();
}

void Execution::allocate_scratch() {
  const ScratchBytes bytes = scratch_bytes(batch_, parts_);
  schedule_ = peers::poisoned_scratch(bytes.schedule);
  splits_ = peers::poisoned_scratch(bytes.splits);
  partial_out_ = peers::poisoned_scratch(bytes.partial_out);
  partial_lse_ = peers::poisoned_scratch(bytes.partial_lse);
  scratch_ = {address<void>(schedule_), address<int>(splits_), address<float>(partial_out_),
              address<float>(partial_lse_)};
}

void Execution::enqueue_plan() {
  launch_plan(batch_, scratch_, parts_, stream().get());
}

void Execution::enqueue_decode(const DecodeInputs& inputs) {
  launch_decode(batch_, inputs.kv.data, scratch_, parts_, stream().get());
}

KernelInfo Execution::kernel() const {
  return {"FlashMLA dense decode", std::string("sm90 bf16, commit ") + kCommit, std::string(kSourceDigest)};
}

// P is rounded to bf16 for the product with V, its row sum is not; parts of a split request are float32.
Precision Execution::precision() const {
  return {.probabilities = DataType::bf16, .row_sum_of_rounded = false, .partial_output = DataType::f32};
}

}  // namespace mla::harness::flashmla
