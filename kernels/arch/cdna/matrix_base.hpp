// What the fragments of the 16x16 matrix products have in common on the CDNA targets.
//
// The products are computed transposed: K is the left operand and q the right one, V the left and P the right. A lane
// then holds consecutive tokens, or dims, of ONE row of the result, so that it stores them as one vector and rescales
// them by one factor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/cdna/instructions.hpp"
#include "kernels/decode/vector.hpp"
#include "mla/dtype.hpp"

namespace mla::cdna {

template <int kWords>
MLA_DEVICE void read(std::uint32_t (&words)[kWords], const std::byte* address) {
  const auto vector = *reinterpret_cast<const Vector<std::uint32_t, kWords>*>(address);
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = vector.v[i];
}

/// What all operand types share, where a lane holds `kTokens` tokens of P. A lane's place in a 16x16 product: column or
/// row `lane % 16`, quarter `lane / 16`.
template <int kTokens>
struct MatrixBase {
  static constexpr int kScoreColumns = 16;
  static constexpr int kScoreVectors = 1;
  static constexpr int kScoreWidth = 4;
  static constexpr int kValueDepth = 4 * kTokens;
  static constexpr int kOutputVectors = 1;
  static constexpr bool kScalesQuery = false;
  static constexpr DataType kProbabilityType = DataType::bf16;
  static constexpr float kProbabilityFloor = 0;
  static constexpr int kProbabilityExponent = 0;

  using Probability = std::uint16_t;
  struct Scores {
    float v[4] = {};
  };
  struct Probabilities {
    std::uint32_t v[kTokens / 2];
  };

  static MLA_DEVICE int line() { return lane() % 16; }
  static MLA_DEVICE int quarter() { return lane() / 16; }

  static MLA_DEVICE int score_row(int lane, int /*vector*/) { return lane % 16; }
  static MLA_DEVICE int score_column(int lane, int /*vector*/) { return lane / 16 * 4; }
  static MLA_DEVICE float score(const Scores& scores, int /*vector*/, int element) { return scores.v[element]; }
  static MLA_DEVICE int output_row(int lane, int /*vector*/) { return lane % 16; }

  static MLA_DEVICE void load_probabilities(Probabilities& p, const std::byte* tile, int pitch, int row, int token) {
    read(p.v, tile + (row + line()) * pitch + (token + quarter() * kTokens) * 2);
  }
  template <int kCount>
  static MLA_DEVICE void store_probabilities(Probability* destination, const float (&p)[kCount]) {
    if constexpr (kCount == 1) {
      *destination = static_cast<Probability>(bf16_pair(p[0], 0.0F));
    } else {
      static_assert(kCount % 2 == 0);
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        *reinterpret_cast<std::uint32_t*>(destination + i) = bf16_pair(p[i], p[i + 1]);
      }
    }
  }
};

}  // namespace mla::cdna
