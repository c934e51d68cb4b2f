// The fixed dimensions of multi-head latent attention in its absorbed form, and the limits of the kernel contract.
#pragma once

namespace mla {

/// Width of one latent KV row: 512 compressed dimensions followed by 64 rotary ones (DeepSeek-V3, Kimi-K2, GLM-5).
inline constexpr int kLatentDim = 512;
inline constexpr int kRopeDim = 64;
inline constexpr int kHeadDim = kLatentDim + kRopeDim;

/// V is the first `kLatentDim` elements of the same row that serves as K.
inline constexpr int kValueDim = kLatentDim;

inline constexpr int kMaxHeads = 128;
inline constexpr int kMaxQueryLength = 8;
inline constexpr int kMaxPageSize = 256;

/// Page sizes are powers of two from 1 to `kMaxPageSize`.
[[nodiscard]] constexpr bool is_valid_page_size(int page_size) {
  return page_size >= 1 && page_size <= kMaxPageSize && (page_size & (page_size - 1)) == 0;
}

}  // namespace mla
