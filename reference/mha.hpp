// Multi-head latent attention in its un-absorbed form: the definition that the absorbed decode form must equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mla/view.hpp"

namespace mla::reference {

/// Keys and values of head h are made from the latent row [c (512); k_pe (64)] of a token:
///   k_h = [W_UK_h c ; k_pe],   v_h = W_UV_h c,   score = sm_scale * ([q_nope_h ; q_pe_h] . k_h).
/// Visibility of tokens is that of `DecodeInputs`.
struct MhaInputs {
  int heads = 0;      // H
  int nope_dim = 0;   // 128 in DeepSeek-V3 and Kimi-K2, 192 in GLM-5
  int value_dim = 0;  // 128 in DeepSeek-V3 and Kimi-K2, 256 in GLM-5

  std::span<const double> w_uk;    // [H, nope_dim, 512]
  std::span<const double> w_uv;    // [H, value_dim, 512]
  std::span<const double> q_nope;  // [T, H, nope_dim]
  std::span<const double> q_pe;    // [T, H, 64]

  PagedKvView kv;         // [pages, page_size, 576]
  RaggedBatchView batch;  // B requests, T = qo_indptr[B] query rows
  bool causal = true;
  double sm_scale = 0;
  double kv_scale = 1;  // real value of a kv element = kv_scale * element
};

struct MhaResult {
  std::vector<double> out;  // [T, H, value_dim]; 0 where a row sees no token
  std::vector<double> lse;  // [T, H], natural logarithm; -inf where a row sees no token
};

/// Computes attention head by head in double precision. Written for clarity and to share nothing with `decode` but the
/// decoding of elements; time and memory grow with H * value_dim per token.
[[nodiscard]] MhaResult multi_head_attention(const MhaInputs& inputs);

}  // namespace mla::reference
