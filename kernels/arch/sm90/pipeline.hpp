// Asynchronous copies of row tiles on Hopper.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/instructions.hpp"

namespace mla::sm90 {

/// Rows lie apart by an odd number of 16-byte units, so that the eight rows of an ldmatrix fall into eight bank groups.
template <int kBytes>
struct TileLayout {
  static_assert(kBytes % 16 == 0);
  static constexpr int kRowBytes = kBytes;
  static constexpr int kPitch = (kBytes / 16) % 2 == 0 ? kBytes + 16 : kBytes;
};

/// Slots that copy waves fill and compute waves empty.
///
/// Whole rows go through the bulk copy engine, one request a row: the padding between rows rules out larger ones, and
/// pages of one token would anyway. The engine's instruction takes one address at a time, which costs a wave some tens
/// of cycles a row: hence waves of their own, and several.
template <int kSlots, int kComputeWaves, int kCopyWaves>
class Pipeline {
 public:
  static constexpr int kSharedBytes = kSlots * 16;

  /// All lanes; a barrier of the whole workgroup must follow.
  MLA_DEVICE explicit Pipeline(std::byte* shared) : barriers_(shared_address(shared)) {
    if (threadIdx.x != 0) return;
    for (int slot = 0; slot < kSlots; ++slot) {
      mbarrier_init(full(slot), kCopyWaves);
      mbarrier_init(empty(slot), kComputeWaves * 32);
    }
    fence_barrier_init();
  }

  /// The row of a tile of `kRows` that this lane of a copy wave gives the address of, or -1.
  template <int kRows>
  static MLA_DEVICE int row() {
    static_assert(kRows % kCopyWaves == 0 && kRows / kCopyWaves <= 32);
    constexpr int kOwn = kRows / kCopyWaves;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return lane < kOwn ? copy_wave() * kOwn + lane : -1;
  }

  /// Copy waves: returns when the slot is free for its `use`-th start.
  MLA_DEVICE void acquire(int slot, int use) const {
    if (use > 0) mbarrier_wait(empty(slot), static_cast<std::uint32_t>(use - 1) & 1U);
  }

  /// Copy waves: begins the copy of each lane's row from `source`. Every row must have one: lanes that stored zeros
  /// instead would each have to arrive.
  template <class Layout, int kRows>
  MLA_DEVICE void start(int slot, std::byte* destination, const std::byte* source) const {
    constexpr int kOwn = kRows / kCopyWaves;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    std::byte* own = destination + copy_wave() * kOwn * Layout::kPitch;
    if (lane == 0) mbarrier_arrive_expect(full(slot), kOwn * Layout::kRowBytes);
    if (lane < kOwn) copy_bulk(shared_address(own) + lane * Layout::kPitch, source, Layout::kRowBytes, full(slot));
  }

  /// Copy waves: after the last start. The barriers complete by themselves here.
  MLA_DEVICE void finish() const {}

  /// Compute waves: returns when the slot's `use`-th start has landed.
  MLA_DEVICE void wait(int slot, int use) const { mbarrier_wait(full(slot), static_cast<std::uint32_t>(use) & 1U); }

  /// Compute waves: this lane has read all that it needs of the slot. Every lane arrives: with one for its wave, after
  /// a barrier of the wave, compute-sanitizer's racecheck does not see that the others' reads come before the next
  /// copy.
  MLA_DEVICE void release(int slot) const { mbarrier_arrive(empty(slot)); }

 private:
  static MLA_DEVICE int copy_wave() { return static_cast<int>(threadIdx.x) / 32 - kComputeWaves; }
  MLA_DEVICE std::uint32_t full(int slot) const { return barriers_ + slot * 16; }
  MLA_DEVICE std::uint32_t empty(int slot) const { return barriers_ + slot * 16 + 8; }

  std::uint32_t barriers_;
};

}  // namespace mla::sm90
