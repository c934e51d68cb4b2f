// How rows of q and KV lie in the shared memory of CDNA, and how they get there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/cdna/instructions.hpp"
#include "kernels/decode/vector.hpp"
#include "kernels/runtime/target.hpp"

namespace mla::cdna {

/// Rows follow each other without padding, because a copy from global to shared memory writes the wave's lanes side by
/// side. The 16-byte units of a row are exchanged within groups of a power of two instead: unit u of row r lies at
/// u ^ key(r), so that neither the eight rows of a K read nor the four of a transposed V read meet in a bank.
template <int kBytes>
struct TileLayout {
  static_assert(kBytes % 64 == 0);
  static constexpr int kRowBytes = kBytes;
  static constexpr int kPitch = kBytes;

  static MLA_DEVICE constexpr int key(int row) {
    if constexpr (kBytes % 128 == 0) {
      // A transposed read takes two neighbouring units of four rows: these differ in the upper bits of the key.
      return (row & 3) << 1 | (row >> 2 & 1);
    } else {
      // Every other row already begins half the banks further on.
      return (row & 2) | (row >> 2 & 1);
    }
  }
  /// Where byte `byte` of row `row` lies in the tile; runs of bytes stay together within 16-byte units.
  static MLA_DEVICE constexpr int offset(int row, int byte) { return row * kPitch + (byte ^ key(row) << 4); }
};

/// Copies of a tile of rows by `kWaves` waves, each a run of kOwn rows.
template <class Layout, int kRows, int kWaves, int kUnit>
class RowCopies {
 public:
  static_assert(kRows % kWaves == 0);
  static constexpr int kOwn = kRows / kWaves;
  static constexpr int kOwnBytes = kOwn * Layout::kRowBytes;
  static constexpr int kStep = kWaveWidth * kUnit;
  /// Vector memory operations of a start.
  static constexpr int kOperations = (kOwnBytes + kStep - 1) / kStep;

  static MLA_DEVICE int first_row() { return wave() * kOwn; }

  /// The row whose address this lane gives: the lanes after the last row's repeat it.
  static MLA_DEVICE int row() { return first_row() + (lane() < kOwn ? lane() : kOwn - 1); }

  /// What belongs to this lane's row, of one value a row.
  static MLA_DEVICE int deal(const int (&values)[kOwn]) { return cdna::deal(values); }

  /// Begins the copies of this wave's rows, of which each lane gives one's global address, aligned to 16 bytes.
  static MLA_DEVICE void start(std::byte* tile, const std::byte* address) {
    // In vector registers throughout: the masks of a choice between scalar addresses would be kept for the whole
    // kernel.
    int at[kOperations];
    const std::byte* from[kOperations];
#pragma unroll
    for (int i = 0; i < kOperations; ++i) at[i] = (i * kWaveWidth + lane()) * kUnit / Layout::kRowBytes;
    gather(from, address, at);
    std::byte* own = tile + first_row() * Layout::kPitch;
#pragma unroll
    for (int i = 0; i < kOperations; ++i) {
      const int to = (i * kWaveWidth + lane()) * kUnit;
      if (kOwnBytes % kStep != 0 && to >= kOwnBytes) continue;
      const int byte = to - at[i] * Layout::kRowBytes;
      copy_to_shared<kUnit>(own + i * kStep, from[i] + (byte ^ Layout::key(first_row() + at[i]) << 4));
    }
  }

  /// Returns when this lane's part of a start has landed after which `newer` others were started.
  template <int kMost>
  static MLA_DEVICE void await(int newer) {
    if constexpr (kMost > 0) {
      if (newer < kMost) return await<kMost - 1>(newer);
    }
    wait_copies<kMost * kOperations>();
  }
};

}  // namespace mla::cdna
