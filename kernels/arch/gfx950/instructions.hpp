// The instructions that gfx950 has and gfx942 has not, or has with another meaning.
#pragma once

#include "kernels/arch/cdna/instructions.hpp"

#if defined(__HIP__)

namespace mla::cdna {

namespace detail {
using Bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using Bf16x2 = __bf16 __attribute__((ext_vector_type(2)));
using Float2 = float __attribute__((ext_vector_type(2)));
using Short4 = short __attribute__((ext_vector_type(4)));
}  // namespace detail

MLA_DEVICE void read_transposed_16(std::uint32_t (&r)[2], const std::byte* address) {
  using Shared = __attribute__((address_space(3))) detail::Short4;
  const auto read = __builtin_amdgcn_ds_read_tr16_b64_v4i16(reinterpret_cast<Shared*>(shared_address(address)));
  const auto words = __builtin_bit_cast(detail::Words<2>::Type, read);
  r[0] = words.x;
  r[1] = words.y;
}

MLA_DEVICE void mfma_16x16x32_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4]) {
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(detail::Bf16x8, a),
                                                           __builtin_bit_cast(detail::Bf16x8, b),
                                                           detail::Float4{d[0], d[1], d[2], d[3]}, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = sum[i];
}

template <class Encoding, bool kHigh>
MLA_DEVICE std::uint32_t bf16_pair_of_fp8(std::uint32_t bytes) {
  return __builtin_bit_cast(std::uint32_t, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(bytes, 1.0F, kHigh));
}

MLA_DEVICE std::uint32_t bf16_pair(float first, float second) {
  return __builtin_bit_cast(std::uint32_t, __builtin_convertvector((detail::Float2{first, second}), detail::Bf16x2));
}

}  // namespace mla::cdna

#endif
