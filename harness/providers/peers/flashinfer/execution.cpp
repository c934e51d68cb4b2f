#include "harness/providers/peers/flashinfer/execution.hpp"

#include <cmath>
#include <string>

#include "harness/providers/peers/flashinfer/digest.hpp"
#include "harness/providers/peers/flashinfer/version.hpp"

namespace mla::harness::flashinfer {

namespace {

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

// More than its planner makes of any batch: a tile of rows is one work, and each cluster of blocks may split one more.
std::int64_t most_works(const DecodeProblem& problem) {
  constexpr int kClusters = 256;
  std::int64_t works = kClusters;
  for (int request = 0; request < problem.batch(); ++request) {
    works += (problem.q_len(request) * problem.fields().heads + kRowsPerTile - 1) / kRowsPerTile;
  }
  return works;
}

void* allocate_pinned(std::size_t bytes) {
  void* address = nullptr;
  hip::check(hipHostMalloc(&address, bytes), "hipHostMalloc");
  return address;
}

HostBatch host_batch(const DecodeCase& c) {
  const DecodeProblem& problem = c.problem;
  const auto requests = static_cast<std::size_t>(problem.batch());
  const auto* qo_indptr = c.inputs.qo_indptr.as<std::int32_t>();
  const auto* kv_indptr = c.inputs.kv_indptr.as<std::int32_t>();
  HostBatch batch;
  batch.qo_indptr.assign(qo_indptr, qo_indptr + requests + 1);
  batch.kv_indptr.assign(kv_indptr, kv_indptr + requests + 1);
  for (int request = 0; request < problem.batch(); ++request) {
    batch.kv_lens.push_back(static_cast<std::int32_t>(problem.kv_len(request)));
  }
  batch.heads = problem.fields().heads;
  // One query token sees all of the cache, and its users plan such a batch without a mask.
  batch.causal = problem.fields().causal && problem.max_q_len() > 1;
  return batch;
}

Tensors tensors_of(const DecodeInputs& inputs, const DecodeOutputs& outputs, bool causal) {
  Tensors tensors;
  tensors.q = inputs.q.data;
  tensors.q_token_stride = inputs.q.token_stride;
  tensors.q_head_stride = inputs.q.head_stride;
  tensors.cache = inputs.kv.dtype == DataType::bf16 ? CacheType::bf16 : CacheType::e4m3fn;
  tensors.kv_page_stride = inputs.kv.page_stride;
  tensors.kv_token_stride = inputs.kv.token_stride;
  tensors.page_size = inputs.kv.page_size;
  tensors.kv_indices = inputs.batch.kv_indices;
  tensors.out = outputs.out.data;
  tensors.out_token_stride = outputs.out.token_stride;
  tensors.out_head_stride = outputs.out.head_stride;
  tensors.lse = outputs.lse.data;
  tensors.heads = inputs.heads;
  tensors.causal = causal;
  tensors.sm_scale = inputs.sm_scale * inputs.q_scale;
  tensors.kv_scale = inputs.kv_scale;
  return tensors;
}

}  // namespace

Support Execution::supports(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  const DataType kv = resolve(fields.kv_type, DataType::e4m3fn);
  if (fields.q_type != ElementType::bf16 || (kv != DataType::bf16 && kv != DataType::e4m3fn)) {
    return {SkipReason::unsupported_dtype, "FlashInfer's Hopper kernel takes q in bf16 and a cache in bf16 or e4m3fn"};
  }
  if (kv == DataType::bf16 && fields.kv_scale != 1) {
    return {SkipReason::unsupported_dtype, "FlashInfer scales no bf16 cache"};
  }
  if (kv != DataType::bf16 && !is_power_of_two(fields.kv_scale)) {
    return {SkipReason::unsupported_dtype,
            "FlashInfer rounds the scaled cache to bf16, which is exact for a power of two alone: set ks"};
  }
  if (fields.layout != Layout::dense) return {SkipReason::unsupported_shape, "FlashInfer's lse is dense"};
  if (most_works(problem) > kMostWorks) {
    return {SkipReason::unsupported_shape, fmt::format("FlashInfer's plan has room for {} works", kMostWorks)};
  }
  return {};
}

Execution::Execution(const DecodeCase& problem_case, hip::Planning planning)
    : DeviceExecution(problem_case, planning),
      batch_(host_batch(problem_case)),
      tensors_(tensors_of(inputs(), outputs(), batch_.causal)),
      floats_(kFloatWorkspaceBytes),
      ints_(kIntWorkspaceBytes),
      pinned_(allocate_pinned(kIntWorkspaceBytes)),
      workspace_{floats_.data(), ints_.data(), pinned_.get()} {
  // Poisoned as the outputs are: what is read without having been written shows as NaN.
  hip::check(hipMemset(floats_.data(), 0xff, floats_.size()), "hipMemset");
  upload_inputs();
}

void Execution::enqueue_plan() {
  plan_ = plan(batch_, workspace_, stream().get());
}

void Execution::enqueue_decode(const DecodeInputs& inputs) {
  Tensors tensors = tensors_;
  tensors.kv = inputs.kv.data;
  hip::check(launch_decode(tensors, plan_, workspace_, stream().get()), "FlashInfer's MLA kernel");
}

KernelInfo Execution::kernel() const {
  return {"FlashInfer MLA fa3", std::string("sm90, commit ") + kCommit, std::string(kSourceDigest)};
}

// P and the partial outputs of a split request are rounded to bf16; the row sum adds P before that.
Precision Execution::precision() const {
  return {.probabilities = DataType::bf16, .row_sum_of_rounded = false, .partial_output = DataType::bf16};
}

}  // namespace mla::harness::flashinfer
