#include "harness/providers/peers/flashmla/execution.hpp"

#include <algorithm>
#include <span>
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

hip::DeviceMemory on_device(const std::vector<int>& values) {
  hip::DeviceMemory memory(values.size() * sizeof(int));
  hip::upload(memory.data(), std::as_bytes(std::span(values)));
  return memory;
}

// Poisoned as the outputs are: what is read without having been written shows as NaN.
hip::DeviceMemory scratch_of(std::size_t bytes) {
  hip::DeviceMemory memory(bytes);
  hip::check(hipMemset(memory.data(), 0xff, bytes), "hipMemset");
  return memory;
}

}  // namespace

Support Execution::supports(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  const auto unsupported = [](std::string detail) { return Support{SkipReason::unsupported_shape, std::move(detail)}; };
  if (fields.q_type != ElementType::bf16 || fields.kv_type != ElementType::bf16) {
    return {SkipReason::unsupported_dtype, "FlashMLA's dense decode takes bf16 alone"};
  }
  if (fields.kv_scale != 1) return {SkipReason::unsupported_dtype, "FlashMLA scales no bf16 cache"};
  if (fields.page_size != kPageSize) return unsupported("FlashMLA's page size is 64");
  if (fields.layout != Layout::dense) return unsupported("FlashMLA's q, out and lse are dense");
  if (problem.batch() > kMostRequests) return unsupported(fmt::format("FlashMLA plans {} requests", kMostRequests));
  for (int request = 0; request < problem.batch(); ++request) {
    if (problem.q_len(request) != problem.q_len(0)) return unsupported("FlashMLA's requests have one q_len");
    // It gives such rows an lse of +inf, and the contract of this project is -inf.
    const int hidden = fields.causal ? problem.q_len(request) - 1 : 0;
    if (problem.kv_len(request) <= hidden) return unsupported("FlashMLA's rows see a token at least");
  }
  if (problem.q_len(0) == 0) return unsupported("FlashMLA's requests have a query token at least");
  return {};
}

Execution::Execution(const DecodeCase& problem_case, hip::Planning planning) : DeviceExecution(problem_case, planning) {
  const DecodeProblem& problem = problem_case.problem;
  upload_inputs();
  upload_tables();
  batch_.requests = problem.batch();
  batch_.q_len = problem.q_len(0);
  batch_.heads = problem.fields().heads;
  batch_.causal = problem.fields().causal;
  batch_.sm_scale = inputs().sm_scale * inputs().q_scale;
  batch_.q = inputs().q.data;
  batch_.pages = static_cast<int>(inputs().kv.num_pages);
  batch_.kv_page_stride = inputs().kv.page_stride;
  batch_.kv_token_stride = inputs().kv.token_stride;
  batch_.out = outputs().out.data;
  batch_.lse = outputs().lse.data;
  parts_ = parts(batch_.q_len, batch_.heads);
  allocate_scratch();
}

// Its rectangular block table and its lengths in tokens, which an engine on FlashMLA keeps instead of ours.
void Execution::upload_tables() {
  const DecodeProblem& problem = problem_case().problem;
  const auto* indptr = problem_case().inputs.kv_indptr.as<std::int32_t>();
  const auto* indices = problem_case().inputs.kv_indices.as<std::int32_t>();
  std::vector<int> lens(static_cast<std::size_t>(problem.batch()));
  std::int64_t width = 1;
  for (int request = 0; request < problem.batch(); ++request) {
    lens[static_cast<std::size_t>(request)] = static_cast<int>(problem.kv_len(request));
    width = std::max(width, problem.kv_pages(request));
  }
  // Page 0 is no request's and holds NaN: entries after a request's last must not be used.
  std::vector<int> table(static_cast<std::size_t>(problem.batch() * width), 0);
  for (int request = 0; request < problem.batch(); ++request) {
    std::copy(indices + indptr[request], indices + indptr[request + 1], table.begin() + request * width);
  }
  block_table_ = on_device(table);
  kv_lens_ = on_device(lens);
  batch_.block_table = address<int>(block_table_);
  batch_.pages_per_request = static_cast<int>(width);
  batch_.kv_lens = address<int>(kv_lens_);
}

void Execution::allocate_scratch() {
  const ScratchBytes bytes = scratch_bytes(batch_, parts_);
  schedule_ = scratch_of(bytes.schedule);
  splits_ = scratch_of(bytes.splits);
  partial_out_ = scratch_of(bytes.partial_out);
  partial_lse_ = scratch_of(bytes.partial_lse);
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
