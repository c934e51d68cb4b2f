// Small vectors that move between registers and memory as one access.
#pragma once

#include <cstdint>

#include "kernels/runtime/target.hpp"

namespace mla {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T v[kCount];
};

/// `kCount` float32 values as bf16, packed.
template <class Arch, int kCount>
MLA_DEVICE auto to_bf16(const Vector<float, kCount>& values) {
  if constexpr (kCount == 1) {
    return Vector<std::uint16_t, 1>{{static_cast<std::uint16_t>(Arch::bf16_pair(values.v[0], 0.0F))}};
  } else {
    Vector<std::uint32_t, kCount / 2> packed;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) packed.v[i] = Arch::bf16_pair(values.v[2 * i], values.v[2 * i + 1]);
    return packed;
  }
}

}  // namespace mla
