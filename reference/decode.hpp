// The double-precision oracle of decode attention, and the sums its error model needs.
#pragma once

#include <cstdint>
#include <span>

#include "mla/decode.hpp"

namespace mla::reference {

/// Oracle results for every row r = token * H + head, computed in double precision on the exact bits of q and kv with
/// the scales applied exactly. Memory belongs to the caller, so that it can be shared between processes.
///
/// `logit_magnitude` is the exact sum, a matrix product of its own that takes a sixth of the oracle's time. The cheap
/// alternative, |q| |k|, is some 1.6 times larger on random data, and would blur the LSE bound as much.
///
/// With s_k the logits of the row, p = softmax(s) over its n visible tokens and v_kd = kv_scale * kv[k][d]:
struct DecodeOracle {
  std::int64_t rows = 0;                    // T * H
  std::span<double> out;                    // [rows, 512]  O_d = sum_k p_k v_kd; 0 where n = 0
  std::span<double> lse;                    // [rows]       ln sum_k e^s_k; -inf where n = 0
  std::span<float> abs_sum;                 // [rows, 512]  A_d = sum_k p_k |v_kd|: scale of the worst-case error
  std::span<float> square_sum;              // [rows, 512]  B_d^2 = sum_k p_k^2 v_kd^2: scale of the random error
  std::span<float> value_abs_sum;           // [T, 512]     sum_k |v_kd| over the tokens visible to that query row
  std::span<float> logit_magnitude;         // [rows]       max_k sum_i |q_i k_i| * |scale|: scale of the logits' error
  std::span<float> probability_max;         // [rows]       max_k p_k
  std::span<float> probability_square_sum;  // [rows] sum_k p_k^2
  std::span<std::int64_t> visible;          // [rows]       n

  /// Bytes of one block of memory that holds all of the above.
  [[nodiscard]] static std::size_t bytes(std::int64_t tokens, int heads);
  /// Lays the spans out in `memory`, 64-byte aligned. Throws std::invalid_argument if it holds less than `bytes`.
  [[nodiscard]] static DecodeOracle over(std::span<std::byte> memory, std::int64_t tokens, int heads);
};

/// Computes the oracle in the absorbed form (q and kv share the 576-wide latent space) on all cores, one long request
/// included. Fills every span; the bits do not depend on the number of threads, the page size or the strides.
///
/// Reads only tokens that a row sees, so NaN anywhere else has no effect, and non-finite values of visible tokens
/// propagate as arithmetic has it. The views are taken to be valid. Throws std::invalid_argument if `oracle` has
/// another number of rows than the inputs.
void decode(const DecodeInputs& inputs, const DecodeOracle& oracle);

}  // namespace mla::reference
