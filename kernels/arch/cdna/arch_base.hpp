// What the CDNA targets share of the arch interface. See arch/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/cdna/instructions.hpp"
#include "kernels/arch/cdna/scalar_registers.hpp"
#include "kernels/arch/cdna/tile_layout.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/dtype.hpp"

namespace mla::cdna {

struct ArchBase {
  static constexpr int kWaveWidth = cdna::kWaveWidth;
  /// One wave a SIMD, with all of its registers.
  static constexpr int kWaves = 4;
  static constexpr int kThreads = kWaveWidth * kWaves;
  /// There is one barrier, of all waves, and it is all that waves can wait by without asking again and again: so every
  /// wave copies a part of each tile and takes part in the barrier that ends the copy.
  static constexpr int kCopyWaves = 0;
  static constexpr int kRowTile = 16;
  static constexpr int kPlanThreads = 512;
  static constexpr int kWorkersPerUnit = 1;
  /// The dies' caches are not coherent with each other, so a hand-over inside a launch would have to go through memory.
  static constexpr bool kCanAwait = false;

  /// Nothing about copies has to be kept in shared memory.
  template <int kSlots>
  struct Pipeline {
    static constexpr int kSharedBytes = 0;
  };
  template <int kRowBytes>
  using TileLayout = cdna::TileLayout<kRowBytes>;

  static MLA_DEVICE int thread() { return cdna::thread(); }
  static MLA_DEVICE int lane() { return cdna::lane(); }
  static MLA_DEVICE int wave() { return cdna::wave(); }
  static MLA_DEVICE int workgroup() { return cdna::workgroup(); }
  static MLA_DEVICE std::byte* shared_memory() { return cdna::shared_memory(); }
  static MLA_DEVICE void barrier() { cdna::barrier(); }
  static MLA_DEVICE void barrier_all() { cdna::barrier(); }

  template <class T>
  static MLA_DEVICE T shuffle_xor(T value, int mask) {
    static_assert(sizeof(T) == 4);
    return __builtin_bit_cast(T, cdna::shuffle_xor(__builtin_bit_cast(std::uint32_t, value), mask));
  }

  template <class T>
  static MLA_DEVICE T load(const T* address) {
    return cdna::load_global(address);
  }
  /// The same here: what another launch has written is in memory.
  template <class T>
  static MLA_DEVICE T load_coherent(const T* address) {
    return cdna::load_global(address);
  }
  template <class T>
  static MLA_DEVICE void store(T* address, const T& value) {
    cdna::store_global(address, value);
  }

  static MLA_DEVICE float exp2(float x) { return cdna::exp2(x); }
  static MLA_DEVICE float log2(float x) { return cdna::log2(x); }
};

}  // namespace mla::cdna
