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
      mbarrier_init(empty(slot), kComputeWaves);
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

  /// Copy waves: begins the copy of each lane's row from `source`, null for a row of zeros.
  template <class Layout, int kRows>
  MLA_DEVICE void start(int slot, std::byte* destination, const std::byte* source) const {
    constexpr int kOwn = kRows / kCopyWaves;
    constexpr std::uint32_t kAll = kOwn == 32 ? 0xffffffffU : (1U << kOwn) - 1U;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    std::byte* own = destination + copy_wave() * kOwn * Layout::kPitch;
    const std::uint32_t valid = __ballot_sync(0xffffffffU, lane < kOwn && source != nullptr);
    if (valid != kAll) clear_rows<Layout, kOwn>(own, valid);
    if (lane == 0) mbarrier_arrive_expect(full(slot), static_cast<std::uint32_t>(__popc(valid)) * Layout::kRowBytes);
    if ((valid >> lane & 1U) != 0) {
      copy_bulk(shared_address(own) + lane * Layout::kPitch, source, Layout::kRowBytes, full(slot));
    }
  }

  /// Copy waves: after the last start. The barriers complete by themselves here.
  MLA_DEVICE void finish() const {}

  /// Compute waves: returns when the slot's `use`-th start has landed.
  MLA_DEVICE void wait(int slot, int use) const { mbarrier_wait(full(slot), static_cast<std::uint32_t>(use) & 1U); }

  /// Compute waves: this wave has read all that it needs of the slot.
  MLA_DEVICE void release(int slot) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(slot));
  }

 private:
  static MLA_DEVICE int copy_wave() { return static_cast<int>(threadIdx.x) / 32 - kComputeWaves; }
  MLA_DEVICE std::uint32_t full(int slot) const { return barriers_ + slot * 16; }
  MLA_DEVICE std::uint32_t empty(int slot) const { return barriers_ + slot * 16 + 8; }

  // Rows without a token must be zero, not left over: 0 * NaN would reach every output of the tile.
  template <class Layout, int kRows>
  static MLA_DEVICE void clear_rows(std::byte* destination, std::uint32_t valid) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int row = 0; row < kRows; ++row) {
      if ((valid >> row & 1U) != 0) continue;
      for (int at = lane * 16; at < Layout::kRowBytes; at += 32 * 16) {
        *reinterpret_cast<uint4*>(destination + row * Layout::kPitch + at) = uint4{0, 0, 0, 0};
      }
    }
    // The next tile in this slot is written by the copy engine; the arrival that follows releases these zeros.
    fence_async_proxy();
    __syncwarp();
  }

  std::uint32_t barriers_;
};

}  // namespace mla::sm90
