// FlashInfer's MLA decode on Hopper (its fa3 backend), without torch: plain arguments in, launches out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mla::harness::flashinfer {

/// Sizes of its workspaces, as its Python wrapper takes them.
inline constexpr std::size_t kFloatWorkspaceBytes = std::size_t{128} << 20U;
inline constexpr std::size_t kIntWorkspaceBytes = std::size_t{8} << 20U;
/// Works that its plan has room for.
inline constexpr int kMostWorks = 16384;
/// Rows of (query token, head) that a work has at least: one block's tile.
inline constexpr int kRowsPerTile = 64;

enum class CacheType : std::uint8_t { bf16, e4m3fn };

struct Workspace {
  void* floats = nullptr;       // kFloatWorkspaceBytes on the device
  void* ints = nullptr;         // kIntWorkspaceBytes on the device
  void* pinned_ints = nullptr;  // kIntWorkspaceBytes on the host, page-locked
};

/// What the planner reads, in host memory.
struct HostBatch {
  std::vector<std::int32_t> qo_indptr;  // [requests + 1]
  std::vector<std::int32_t> kv_indptr;  // [requests + 1], in pages
  std::vector<std::int32_t> kv_lens;    // [requests]
  int heads = 0;
  bool causal = false;
};

/// Its plan information, to be passed on to the launch.
using Plan = std::vector<std::int64_t>;

/// Plans on the host and copies the schedule to the device on the stream: the workspace's page-locked part must not be
/// planned into again before that copy is done. Throws std::exception where FlashInfer refuses.
[[nodiscard]] Plan plan(const HostBatch& batch, const Workspace& workspace, cudaStream_t stream);

/// Strides in elements; addresses are the device's.
struct Tensors {
  const void* q = nullptr;  // [T, heads, 576] bf16
  std::int64_t q_token_stride = 0;
  std::int64_t q_head_stride = 0;
  CacheType cache = CacheType::bf16;
  const void* kv = nullptr;  // [pages, page_size, 576]
  std::int64_t kv_page_stride = 0;
  std::int64_t kv_token_stride = 0;
  int page_size = 0;
  const std::int32_t* kv_indices = nullptr;
  void* out = nullptr;  // [T, heads, 512] bf16
  std::int64_t out_token_stride = 0;
  std::int64_t out_head_stride = 0;
  float* lse = nullptr;  // [T, heads] dense, natural logarithm
  int heads = 0;
  bool causal = false;
  float sm_scale = 0;
  float kv_scale = 1;  // an fp8 cache is multiplied by it and rounded to bf16
};

[[nodiscard]] cudaError_t launch_decode(const Tensors& tensors, const Plan& plan, const Workspace& workspace,
                                        cudaStream_t stream);

}  // namespace mla::harness::flashinfer
