// CDNA instructions executed on the CPU, one function each: what `cdna/device.hpp` is to the device compiler. A wave is
// 64 lanes; matrix instructions follow the lane layouts of AMD's matrix instruction calculator and of the CDNA4 ISA.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/runtime/host/workgroup.hpp"
#include "mla/dtype.hpp"

namespace mla::cdna {

inline constexpr int kWaveWidth = 64;

inline int thread() {
  return host::Workgroup::here().lane();
}
inline int lane() {
  return thread() % kWaveWidth;
}
inline int wave() {
  return thread() / kWaveWidth;
}
inline int workgroup() {
  return host::Workgroup::here().index();
}
inline std::byte* shared_memory() {
  return host::Workgroup::here().shared_memory();
}

inline void barrier() {
  host::Workgroup::here().barrier();
}

template <class T>
T load_global(const T* address) {
  host::Workgroup::here().memory().check(address, sizeof(T), host::Memory::Access::read);
  T value;
  std::memcpy(&value, static_cast<const void*>(address), sizeof(T));
  return value;
}
template <class T>
void store_global(T* address, const T& value) {
  host::Workgroup::here().memory().check(address, sizeof(T), host::Memory::Access::write);
  // The wide vectors of a fragment are stored as units of 16 bytes: no larger alignment is promised.
  std::memcpy(static_cast<void*>(address), &value, sizeof(T));
}

/// kBytes a lane from global memory to shared memory at `destination` + lane * kBytes; `destination` is the same in all
/// lanes. One of the lane's vector memory operations, which complete in order.
template <int kBytes>
void copy_to_shared(std::byte* destination, const std::byte* source) {
  host::Workgroup::here().start_copy(destination + lane() * kBytes, source, kBytes);
}
/// At most `kPending` vector memory operations of this lane are under way afterwards.
template <int kPending>
void wait_copies() {
  host::Workgroup::here().wait_copies(kPending);
}

/// of_lanes[i] = what lane lanes[i] gives as its `own`.
template <int kCount>
void gather(const std::byte* (&of_lanes)[kCount], const std::byte* own, const int (&lanes)[kCount]) {
  struct Operands {
    const std::byte** of_lanes;
    const std::byte* own;
    const int* from;
  } operands{of_lanes, own, lanes};
  host::Workgroup::here().meet("ds_bpermute_b32", operands, [](void* const* all) {
    for (int l = 0; l < kWaveWidth; ++l) {
      const auto& to = *static_cast<const Operands*>(all[l]);
      for (int i = 0; i < kCount; ++i) {
        to.of_lanes[i] = static_cast<const Operands*>(all[to.from[i] % kWaveWidth])->own;
      }
    }
  });
}

/// The wave's i-th value to lane i, the last one to all lanes after it. The values are the same in all lanes.
template <int kCount>
int deal(const int (&values)[kCount]) {
  return values[lane() < kCount ? lane() : kCount - 1];
}

inline std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
  struct Operands {
    std::uint32_t value;
    int mask;
    std::uint32_t result;
  } own{value, mask, 0};
  host::Workgroup::here().meet("shuffle_xor", own, [](void* const* lanes) {
    for (int l = 0; l < kWaveWidth; ++l) {
      auto& to = *static_cast<Operands*>(lanes[l]);
      to.result = static_cast<const Operands*>(lanes[l ^ to.mask])->value;
    }
  });
  return own.result;
}

/// ds_read_b64_tr_b16: in each group of 16 lanes, halfword n of lane l is halfword l % 4 of what lane l / 4 % 4 + 4 n
/// reads: lane i reads four dims of token i / 4, lane l gets dim l of four tokens.
inline void read_transposed_16(std::uint32_t (&r)[2], const std::byte* address) {
  struct Operands {
    const std::byte* address;
    std::uint32_t* result;
  } own{address, r};
  host::Workgroup::here().meet("ds_read_b64_tr_b16", own, [](void* const* lanes) {
    std::uint16_t read[kWaveWidth][4];
    for (int l = 0; l < kWaveWidth; ++l) std::memcpy(read[l], static_cast<const Operands*>(lanes[l])->address, 8);
    for (int l = 0; l < kWaveWidth; ++l) {
      std::uint16_t to[4];
      for (int n = 0; n < 4; ++n) to[n] = read[l / 16 * 16 + l / 4 % 4 + 4 * n][l % 4];
      std::memcpy(static_cast<Operands*>(lanes[l])->result, to, 8);
    }
  });
}

namespace detail {

struct MatrixOperands {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

inline float bf16_element(const std::uint32_t* words, int e) {
  return Bfloat16{static_cast<std::uint16_t>(words[e / 2] >> (e % 2 * 16))}.to_float();
}

// d[16x16] += a[16 x depth] b[depth x 16], depth = 4 * kPerLane. Lane l holds of a: row l % 16, of b: column l % 16,
// both at k = l / 16 * kPerLane + e; of d: column l % 16, rows l / 16 * 4 + v.
template <int kPerLane, class Element>
void multiply_16x16(void* const* lanes, Element element) {
  float a[16][4 * kPerLane];
  float b[4 * kPerLane][16];
  for (int l = 0; l < kWaveWidth; ++l) {
    const auto& from = *static_cast<const MatrixOperands*>(lanes[l]);
    for (int e = 0; e < kPerLane; ++e) {
      const int k = l / 16 * kPerLane + e;
      a[l % 16][k] = element(from.a, e);
      b[k][l % 16] = element(from.b, e);
    }
  }
  for (int i = 0; i < 16; ++i) {
    float sum[16] = {};
    for (int k = 0; k < 4 * kPerLane; ++k) {
      for (int j = 0; j < 16; ++j) sum[j] += a[i][k] * b[k][j];
    }
    for (int j = 0; j < 16; ++j) static_cast<const MatrixOperands*>(lanes[i / 4 * 16 + j])->d[i % 4] += sum[j];
  }
}

// Values of the 256 bytes of an encoding: the conversion's own loops would dominate the time of a product.
template <class Encoding>
inline float fp8_value(std::uint8_t byte) {
  struct Table {
    float values[256];
    Table() {
      for (int i = 0; i < 256; ++i) values[i] = Encoding{static_cast<std::uint8_t>(i)}.to_float();
    }
  };
  static const Table table;
  return table.values[byte];
}

template <class Encoding>
float fp8_element(const std::uint32_t* words, int e) {
  return fp8_value<Encoding>(static_cast<std::uint8_t>(words[e / 4] >> (e % 4 * 8)));
}

}  // namespace detail

/// v_mfma_f32_16x16x32_bf16 (gfx950): k = 8 (l / 16) + e.
inline void mfma_16x16x32_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4]) {
  detail::MatrixOperands own{d, a, b};
  host::Workgroup::here().meet("v_mfma_f32_16x16x32_bf16", own,
                               [](void* const* lanes) { detail::multiply_16x16<8>(lanes, detail::bf16_element); });
}

/// v_mfma_f32_16x16x16_bf16 (gfx942): k = 4 (l / 16) + e.
inline void mfma_16x16x16_bf16(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2]) {
  detail::MatrixOperands own{d, a, b};
  host::Workgroup::here().meet("v_mfma_f32_16x16x16_bf16", own,
                               [](void* const* lanes) { detail::multiply_16x16<4>(lanes, detail::bf16_element); });
}

/// v_mfma_f32_16x16x32_fp8_fp8: k = 8 (l / 16) + e; e4m3fn on gfx950, e4m3fnuz on gfx942.
template <class Encoding>
void mfma_16x16x32_fp8(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2]) {
  detail::MatrixOperands own{d, a, b};
  host::Workgroup::here().meet("v_mfma_f32_16x16x32_fp8_fp8", own, [](void* const* lanes) {
    detail::multiply_16x16<8>(lanes, detail::fp8_element<Encoding>);
  });
}

/// Bytes 0 and 1 of a word (`high`: 2 and 3) to two bf16 values: exact.
template <class Encoding, bool kHigh>
std::uint32_t bf16_pair_of_fp8(std::uint32_t bytes) {
  const std::uint32_t pair = kHigh ? bytes >> 16 : bytes;
  const auto first = Bfloat16::from_float(detail::fp8_value<Encoding>(static_cast<std::uint8_t>(pair)));
  const auto second = Bfloat16::from_float(detail::fp8_value<Encoding>(static_cast<std::uint8_t>(pair >> 8)));
  return static_cast<std::uint32_t>(first.bits) | static_cast<std::uint32_t>(second.bits) << 16;
}

/// v_perm_b32: byte i of the result is byte `selector` [i] of the eight bytes {low, high}.
template <std::uint32_t kSelector>
std::uint32_t permute_bytes(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t from = kSelector >> (8 * i) & 7U;
    result |= static_cast<std::uint32_t>(bytes >> (8 * from) & 0xffU) << (8 * i);
  }
  return result;
}

inline float exp2(float x) {
  return std::exp2(x);
}
inline float log2(float x) {
  return std::log2(x);
}

/// Two values rounded to nearest even, the first in the low half.
inline std::uint32_t bf16_pair(float first, float second) {
  return static_cast<std::uint32_t>(Bfloat16::from_float(first).bits) |
         static_cast<std::uint32_t>(Bfloat16::from_float(second).bits) << 16;
}

}  // namespace mla::cdna
