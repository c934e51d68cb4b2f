// Hopper (compute capability 9.0): waves of 32 lanes, mma.sync, copies by the bulk engine. See arch/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/instructions.hpp"
#include "kernels/arch/sm90/matrix.hpp"
#include "kernels/arch/sm90/pipeline.hpp"
#include "kernels/decode/tile_stages.hpp"
#include "mla/dtype.hpp"

namespace mla::sm90 {

extern __shared__ __align__(128) std::byte dynamic_shared_memory[];

struct Arch {
  static constexpr const char* kName = "sm90";
  static constexpr DataType kFp8 = DataType::e4m3fn;
  static constexpr int kWaveWidth = 32;
  static constexpr int kWaves = 8;
  static constexpr int kThreads = kWaveWidth * kWaves;
  /// Waves that do nothing but start copies: a warpgroup, so that it can leave its registers to the others.
  static constexpr int kCopyWaves = 4;
  static constexpr int kRowTile = 16;
  static constexpr int kPlanThreads = 512;
  static constexpr int kSharedBytes = 232448;
  static constexpr int kWorkersPerUnit = 1;
  /// A waiting workgroup may rely on all others being resident: the kernel is launched cooperatively.
  static constexpr bool kCanAwait = true;

  /// KV tokens of one shared memory tile: about 37 KB either way.
  static constexpr int tile_tokens(DataType kv) { return kv == DataType::bf16 ? 32 : 64; }

  /// Into how many parts the waves divide the 576 dims of the scores: two, so that a lane's share of q takes 72
  /// registers.
  static constexpr int key_parts(int /*rows*/, DataType /*kv*/) { return 2; }

  /// Most rows of a tile of mma.sync: bf16 has wgmma above.
  static constexpr int max_rows(DataType /*q*/, DataType kv) { return kv == DataType::bf16 ? 16 : 32; }

  template <int kRowBytes>
  using TileLayout = sm90::TileLayout<kRowBytes>;
  template <int kSlots>
  using Pipeline = sm90::Pipeline<kSlots, kWaves, kCopyWaves>;
  template <DataType kQuery, DataType kKv>
  using Matrix = sm90::Matrix<kQuery, kKv>;

  static MLA_DEVICE int thread() { return static_cast<int>(threadIdx.x); }
  static MLA_DEVICE int lane() { return static_cast<int>(threadIdx.x) % kWaveWidth; }
  /// Through a broadcast, so that the compiler knows it to be the same in all lanes.
  static MLA_DEVICE int wave() { return __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kWaveWidth, 0); }
  static MLA_DEVICE int workgroup() { return static_cast<int>(blockIdx.x); }
  static MLA_DEVICE std::byte* shared_memory() { return dynamic_shared_memory; }
  static MLA_DEVICE void barrier() { barrier_of_first<kThreads>(); }
  static MLA_DEVICE void barrier_all() { __syncthreads(); }
  /// Called once by all lanes of the copy waves, and of the compute waves: 128 * 56 + 256 * 224 registers.
  static MLA_DEVICE void enter_copy_role() { keep_registers<56>(); }
  static MLA_DEVICE void enter_compute_role() { take_registers<224>(); }

  template <class T>
  static MLA_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffU, value, mask);
  }

  /// What no kernel writes while this one runs.
  template <class T>
  static MLA_DEVICE T load(const T* address) {
    if constexpr (sizeof(T) % 16 == 0) {
      struct Units {
        int4 v[sizeof(T) / 16];
      } units;
#pragma unroll
      for (std::size_t i = 0; i < sizeof(T) / 16; ++i) units.v[i] = __ldg(reinterpret_cast<const int4*>(address) + i);
      return __builtin_bit_cast(T, units);
    } else {
      return __ldg(address);
    }
  }
  template <class T>
  static MLA_DEVICE void store(T* address, const T& value) {
    *address = value;
  }
  /// What another workgroup of this launch has written before its `arrive`.
  template <class T>
  static MLA_DEVICE T load_coherent(const T* address) {
    if constexpr (sizeof(T) % 16 == 0) {
      struct Units {
        int4 v[sizeof(T) / 16];
      } units;
#pragma unroll
      for (std::size_t i = 0; i < sizeof(T) / 16; ++i) units.v[i] = __ldcg(reinterpret_cast<const int4*>(address) + i);
      return __builtin_bit_cast(T, units);
    } else {
      return __ldcg(address);
    }
  }

  /// Makes what all lanes stored before the last barrier visible to workgroups that see a later `arrive`. One lane.
  static MLA_DEVICE void publish() {
    __threadfence();
  }
  /// Adds one to the counter; returns what it was. One lane.
  static MLA_DEVICE int arrive(int* counter) {
    int before;
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
  }
  /// Spins until the counter has reached `count`. One lane; a barrier must follow.
  static MLA_DEVICE void await(const int* counter, int count) {
    int now;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    } while (now < count);
  }

  static MLA_DEVICE float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static MLA_DEVICE float log2(float x) {
    return __log2f(x);
  }

  /// Two values rounded to nearest even, the first in the low half.
  static MLA_DEVICE std::uint32_t bf16_pair(float first, float second) {
    return bf16x2(first, second);
  }
};

}  // namespace mla::sm90

namespace mla {

/// Measured on an H200 with 3, 4 and 5: ragged x 128 at 16 heads 121, 123, 132 us; 4k x 16 31.0, 31.8, 32.9 us.
template <>
inline constexpr int kMaxTileStages<sm90::Arch, DataType::bf16> = 3;

}  // namespace mla
