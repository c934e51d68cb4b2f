// Non-owning views of the tensors of the kernel contract. Strides are in elements, 64-bit: a KV pool exceeds 2^32 bytes
// in production, and 32-bit offsets have been the most frequent silent failure of public MLA kernels.
#pragma once

#include <cstdint>

#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla {

/// q [T, H, 576]; elements of one head are contiguous.
struct QueryView {
  const void* data = nullptr;
  DataType dtype = DataType::bf16;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};

/// kv [pages, page_size, 576]: 512 latent then 64 rope elements, contiguous; V is the first 512.
struct PagedKvView {
  const void* data = nullptr;
  DataType dtype = DataType::bf16;
  std::int64_t page_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t num_pages = 0;
  std::int32_t page_size = 0;
};

/// A ragged batch of B requests. Request b owns query rows [qo_indptr[b], qo_indptr[b+1]) and the pages
/// kv_indices[kv_indptr[b] .. kv_indptr[b+1]), of which the last holds kv_last_page_len[b] tokens (1..page_size;
/// ignored where the request has no page).
struct RaggedBatchView {
  std::int32_t batch = 0;
  const std::int32_t* qo_indptr = nullptr;         // [B+1]
  const std::int32_t* kv_indptr = nullptr;         // [B+1], in pages
  const std::int32_t* kv_indices = nullptr;        // [kv_indptr[B]] physical page numbers
  const std::int32_t* kv_last_page_len = nullptr;  // [B]

  [[nodiscard]] constexpr std::int32_t query_length(std::int32_t request) const {
    return qo_indptr[request + 1] - qo_indptr[request];
  }
  [[nodiscard]] constexpr std::int64_t kv_length(std::int32_t request, std::int32_t page_size) const {
    const std::int64_t pages = kv_indptr[request + 1] - kv_indptr[request];
    // No pages means no tokens whatever kv_last_page_len holds: (0 - 1) * page_size once hung a captured graph.
    return pages <= 0 ? 0 : (pages - 1) * page_size + kv_last_page_len[request];
  }
};

/// out [T, H, 512], bf16.
struct OutputView {
  void* data = nullptr;
  DataType dtype = DataType::bf16;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};

/// lse [T, H], float32, natural logarithm.
struct LseView {
  float* data = nullptr;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};

}  // namespace mla
