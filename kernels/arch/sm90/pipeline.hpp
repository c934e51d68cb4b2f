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

/// Copies whole rows with the bulk copy engine, one request a row: the padding between rows rules out larger ones, and
/// pages of one token would anyway. Every wave issues its share, because the engine's instruction takes one address at
/// a time and a single wave would lose its own share of the matrix work to issuing.
template <int kSlots, int kWaves>
class Pipeline {
 public:
  static constexpr int kSharedBytes = (kSlots * 8 + 15) / 16 * 16;

  MLA_DEVICE explicit Pipeline(std::byte* shared) : barriers_(shared_address(shared)) {
    if (threadIdx.x != 0) return;
    for (int slot = 0; slot < kSlots; ++slot) mbarrier_init(barriers_ + slot * 8, kWaves);
    fence_barrier_init();
  }

  template <class Layout, int kRows>
  MLA_DEVICE void start(int slot, std::byte* destination, const std::byte* const* rows) const {
    static_assert(kRows % kWaves == 0 && kRows / kWaves <= 32);
    constexpr int kRowsPerWave = kRows / kWaves;
    const int wave = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint32_t barrier = barriers_ + slot * 8;
    const int row = wave * kRowsPerWave + lane % kRowsPerWave;
    const std::byte* source = rows[row];
    const std::uint32_t valid = __ballot_sync(0xffffffffU, lane < kRowsPerWave && source != nullptr);
    if (valid != (kRowsPerWave == 32 ? 0xffffffffU : (1U << kRowsPerWave) - 1U)) {
      clear_rows<Layout, kRowsPerWave>(destination + wave * kRowsPerWave * Layout::kPitch, valid);
    }
    if (lane == 0) mbarrier_arrive_expect(barrier, static_cast<std::uint32_t>(__popc(valid)) * Layout::kRowBytes);
    if ((valid >> lane & 1U) != 0) {
      copy_bulk(shared_address(destination) + row * Layout::kPitch, source, Layout::kRowBytes, barrier);
    }
  }

  MLA_DEVICE void wait(int slot, int use, int /*younger*/) const {
    mbarrier_wait(barriers_ + slot * 8, static_cast<std::uint32_t>(use) & 1U);
  }

 private:
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
