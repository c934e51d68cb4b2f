// The fp8 decode on Hopper in vLLM's FlashMLA, without torch: plain arguments in, launches out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mla::harness::vllm_flashmla {

inline constexpr int kPageSize = 64;

/// Requests of equal q_len over a paged cache; addresses are the device's, strides in elements.
struct Batch {
  int requests = 0;
  int q_len = 0;
  int heads = 0;
  bool causal = false;
  float sm_scale = 0;
  const void* q = nullptr;  // [requests, q_len, heads, 576] e4m3fn, dense
  int pages = 0;
  std::int64_t kv_page_stride = 0;
  std::int64_t kv_token_stride = 0;
  const float* q_scale = nullptr;    // [1]
  const float* kv_scale = nullptr;   // [1]
  const int* block_table = nullptr;  // [requests, pages_per_request]
  int pages_per_request = 0;
  const int* kv_lens = nullptr;  // [requests]
  void* out = nullptr;           // [requests, q_len, heads, 512] bf16, dense
  float* lse = nullptr;          // [requests, q_len, heads] natural logarithm
};

/// What the plan is made for: a part is the share of one SM in the tiles of 64 (query token, head) rows.
[[nodiscard]] int parts(int q_len, int heads);

/// Bytes of the scratch buffers of a batch split into `parts` parts.
struct ScratchBytes {
  std::size_t schedule = 0;     // the plan: what each part does
  std::size_t splits = 0;       // [requests + 1] i32, the plan's index of partial results
  std::size_t partial_out = 0;  // float32
  std::size_t partial_lse = 0;  // float32
};
[[nodiscard]] ScratchBytes scratch_bytes(const Batch& batch, int parts);

struct Scratch {
  int* schedule = nullptr;
  int* splits = nullptr;
  float* partial_out = nullptr;
  float* partial_lse = nullptr;
};

/// It prints what the runtime says and ends the process where a launch fails.
void launch_plan(const Batch& batch, const Scratch& scratch, int parts, cudaStream_t stream);
void launch_decode(const Batch& batch, const void* kv, const Scratch& scratch, int parts, cudaStream_t stream);

}  // namespace mla::harness::vllm_flashmla
