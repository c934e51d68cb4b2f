// The CDNA instructions that the kernels use, one function each. `host/cdna.hpp` has the same names on the CPU, with
// what each of them does.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/target.hpp"
#include "mla/dtype.hpp"

namespace mla::cdna {

inline constexpr int kWaveWidth = 64;

extern __shared__ std::byte dynamic_shared_memory[];

MLA_DEVICE int thread() {
  return static_cast<int>(threadIdx.x);
}
MLA_DEVICE int lane() {
  return static_cast<int>(threadIdx.x % kWaveWidth);
}
/// Through a broadcast, so that the compiler knows it to be the same in all lanes.
MLA_DEVICE int wave() {
  return __builtin_amdgcn_readfirstlane(static_cast<int>(threadIdx.x / kWaveWidth));
}
MLA_DEVICE int workgroup() {
  return static_cast<int>(blockIdx.x);
}
MLA_DEVICE std::byte* shared_memory() {
  return dynamic_shared_memory;
}

MLA_DEVICE void barrier() {
  __syncthreads();
}

namespace detail {

template <class T>
using Global = __attribute__((address_space(1))) T;
template <class T>
using Constant = __attribute__((address_space(4))) T;
using Shared = __attribute__((address_space(3))) std::byte;
using Float4 = float __attribute__((ext_vector_type(4)));

template <int kWords>
struct Words {
  using Type = std::uint32_t __attribute__((ext_vector_type(kWords)));
};

// Types that one instruction moves.
template <std::size_t kBytes>
struct Unit;
template <>
struct Unit<2> {
  using Type = std::uint16_t;
};
template <>
struct Unit<4> {
  using Type = std::uint32_t;
};
template <>
struct Unit<8> {
  using Type = Words<2>::Type;
};
template <>
struct Unit<16> {
  using Type = Words<4>::Type;
};
template <std::size_t kBytes>
requires(kBytes > 16 && kBytes % 16 == 0) struct Unit<kBytes> {
  struct Type {
    Words<4>::Type v[kBytes / 16];
  };
};

}  // namespace detail

/// What no kernel writes while this one runs. From an address that is the same in all lanes, it is a scalar load: these
/// are counted apart from the copies to shared memory, and so do not wait for them.
template <class T>
MLA_DEVICE T load_global(const T* address) {
  using Unit = typename detail::Unit<sizeof(T)>::Type;
  if constexpr (sizeof(T) > 16) {
    Unit units;
#pragma unroll
    for (std::size_t i = 0; i < sizeof(T) / 16; ++i) {
      units.v[i] = reinterpret_cast<const detail::Constant<detail::Words<4>::Type>*>(
          reinterpret_cast<std::uintptr_t>(address))[i];
    }
    return __builtin_bit_cast(T, units);
  } else {
    return __builtin_bit_cast(
        T, *reinterpret_cast<const detail::Constant<Unit>*>(reinterpret_cast<std::uintptr_t>(address)));
  }
}
template <class T>
MLA_DEVICE void store_global(T* address, const T& value) {
  using Unit = typename detail::Unit<sizeof(T)>::Type;
  if constexpr (sizeof(T) > 16) {
    const auto units = __builtin_bit_cast(Unit, value);
#pragma unroll
    for (std::size_t i = 0; i < sizeof(T) / 16; ++i) {
      reinterpret_cast<detail::Global<detail::Words<4>::Type>*>(reinterpret_cast<std::uintptr_t>(address))[i] =
          units.v[i];
    }
  } else {
    *reinterpret_cast<detail::Global<Unit>*>(reinterpret_cast<std::uintptr_t>(address)) =
        __builtin_bit_cast(Unit, value);
  }
}

// Only a C cast leads from one address space to another.
MLA_DEVICE std::uint32_t shared_address(const std::byte* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>((const detail::Shared*)pointer));
}

// In assembly: of a copy that it knows of, the compiler assumes that any later read of shared memory needs it, and
// waits for the newest copy where only the oldest is needed. Nothing that the compiler makes of this code keeps a value
// in m0.
//
// m0 holds the destination, in bytes from the start of the workgroup's shared memory: bits 17:2 of it, which reach all
// of gfx950's 160 KB (CDNA3 and CDNA4 ISA, section 10.3: LDSoffset(M0[17:2] * 4); the 16 bits of table 54 are these).
// Lanes write side by side from there on, 4 or 16 bytes each.
template <int kBytes>
MLA_DEVICE void copy_to_shared(std::byte* destination, const std::byte* source) {
  static_assert(kBytes == 4 || kBytes == 16);
  const int to = __builtin_amdgcn_readfirstlane(static_cast<int>(shared_address(destination)));
  if constexpr (kBytes == 16) {
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_dwordx4 %1, off" ::"s"(to), "v"(source) : "memory");
  } else {
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_dword %1, off" ::"s"(to), "v"(source) : "memory");
  }
}
template <int kPending>
MLA_DEVICE void wait_copies() {
  static_assert(kPending < 64, "the counter has six bits");
  asm volatile("s_waitcnt vmcnt(%0)" ::"n"(kPending) : "memory");
}

template <int kCount>
MLA_DEVICE void gather(const std::byte* (&of_lanes)[kCount], const std::byte* own, const int (&lanes)[kCount]) {
  const auto words = __builtin_bit_cast(detail::Words<2>::Type, own);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const detail::Words<2>::Type read = {
        static_cast<std::uint32_t>(__builtin_amdgcn_ds_bpermute(lanes[i] * 4, static_cast<int>(words.x))),
        static_cast<std::uint32_t>(__builtin_amdgcn_ds_bpermute(lanes[i] * 4, static_cast<int>(words.y)))};
    of_lanes[i] = __builtin_bit_cast(const std::byte*, read);
  }
}

template <int kCount>
MLA_DEVICE int deal(const int (&values)[kCount]) {
  int own = values[kCount - 1];
#pragma unroll
  for (int i = 0; i < kCount - 1; ++i) asm("v_writelane_b32 %0, %1, %2" : "+v"(own) : "s"(values[i]), "n"(i));
  return own;
}

MLA_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
  return static_cast<std::uint32_t>(__shfl_xor(static_cast<int>(value), mask, kWaveWidth));
}

template <std::uint32_t kSelector>
MLA_DEVICE std::uint32_t permute_bytes(std::uint32_t high, std::uint32_t low) {
  return __builtin_amdgcn_perm(high, low, kSelector);
}

/// Two values rounded to nearest even, the first in the low half. Each target has its own.
MLA_DEVICE std::uint32_t bf16_pair(float first, float second);

/// e4m3fn on gfx950, e4m3fnuz on gfx942.
template <class Encoding>
MLA_DEVICE void mfma_16x16x32_fp8(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2]) {
  const auto sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(__builtin_bit_cast(long, a), __builtin_bit_cast(long, b),
                                                              detail::Float4{d[0], d[1], d[2], d[3]}, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = sum[i];
}

MLA_DEVICE float exp2(float x) {
  return __builtin_amdgcn_exp2f(x);
}
MLA_DEVICE float log2(float x) {
  return __builtin_amdgcn_logf(x);
}

}  // namespace mla::cdna
