// Decode attention over a paged latent KV cache: the arguments every implementation takes.
#pragma once

#include <cstdint>

#include "mla/view.hpp"

namespace mla {

/// What one decode call reads, apart from where it writes.
///
/// scores[i, k] = sm_scale * q_scale * kv_scale * (q_i . kv_k), out_i = kv_scale * sum_k softmax(scores_i)_k *
/// kv_k[:512]. With `causal`, query row i of a request sees KV positions <= kv_len - q_len + i; without, it sees all of
/// them. A row that sees no token gives out = 0 and lse = -inf.
struct DecodeInputs {
  QueryView q;             // [T, H, 576]
  PagedKvView kv;          // [pages, page_size, 576]
  RaggedBatchView batch;   // B requests, T = qo_indptr[B] query rows
  std::int32_t heads = 0;  // H, 1..128
  bool causal = true;
  float sm_scale = 0;  // always explicit: 192^-0.5 * mscale^2 for DeepSeek-V3, never derived from 576
  float q_scale = 1;   // per-tensor; real value of an fp8 q element = q_scale * element
  float kv_scale = 1;  // per-tensor, likewise
};

/// What one decode call writes.
struct DecodeOutputs {
  OutputView out;  // [T, H, 512]
  LseView lse;     // [T, H]
};

/// The precision that an implementation declares; the checker derives its bounds from it (facts: Higham-style model).
struct Precision {
  /// Type to which the probabilities are rounded before the product with V. f32 means they are not rounded.
  DataType probabilities = DataType::f32;
  /// True where the row sum adds the rounded probabilities, false where it adds the float32 ones.
  bool row_sum_of_rounded = false;
  /// Type in which partial outputs of a split request are kept.
  DataType partial_output = DataType::f32;
  /// Absolute error of P, of which a row's largest is 1, where the type that holds it has a smaller range than
  /// `probabilities`: f16 times 2^15 declares bf16, than which it is finer, and 2^-40.
  float probability_floor = 0;
};

}  // namespace mla
