// The instructions of gfx942 that gfx950 has not, or has with another meaning.
#pragma once

#include "kernels/arch/cdna/instructions.hpp"

#if defined(__HIP__)

namespace mla::cdna {

namespace detail {
using Short4 = short __attribute__((ext_vector_type(4)));
}  // namespace detail

MLA_DEVICE void mfma_16x16x16_bf16(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2]) {
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(detail::Short4, a),
                                                             __builtin_bit_cast(detail::Short4, b),
                                                             detail::Float4{d[0], d[1], d[2], d[3]}, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = sum[i];
}

// Every e4m3 value is a bf16 value, so that the upper halves of the float32 values are exact.
template <class Encoding, bool kHigh>
MLA_DEVICE std::uint32_t bf16_pair_of_fp8(std::uint32_t bytes) {
  const auto values = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(bytes), kHigh);
  // As a whole: where the bits of values[1] are asked for, clang gives those of values[0] (test ci.bit_cast).
  const auto words = __builtin_bit_cast(detail::Words<2>::Type, values);
  return permute_bytes<0x07060302>(words[1], words[0]);
}

MLA_DEVICE std::uint32_t bf16_pair(float first, float second) {
  const auto rounded = [](float value) {
    const auto word = __builtin_bit_cast(std::uint32_t, value);
    return word + 0x7fffU + (word >> 16 & 1U);
  };
  return permute_bytes<0x07060302>(rounded(second), rounded(first));
}

}  // namespace mla::cdna

#endif
