// Where the wide decode kernels keep what in shared memory, and the barriers that guard it.
//
// Half a block's columns are one copy group, refilled when the warpgroup that uses them as values is done:
//   group          columns            values of
//   left, block 0  0-255              warpgroup 0
//   right, block 0 256-575            warpgroup 1; P of block 0 takes the place of columns 512-575, which are keys only
//   left, block 1  0-255, 512-575     warpgroup 0; P of block 1 likewise
//   right, block 1 256-511            warpgroup 1
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/kv_map.hpp"
#include "kernels/arch/sm90/wgmma.hpp"
#include "kernels/decode/split_merge.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

/// The pieces of a block of KV that are copied as one.
enum WideGroup { kLeft0, kRight0, kLeft1, kRight1, kWideGroups };

/// What a slot takes: 32 tokens of a copy group. The units of a pair of blocks follow in the order in which the
/// compute warpgroups empty the groups' places: left and right of block 0, right and left of block 1, each in two
/// parts.
struct WideUnit {
  static constexpr int kCount = 8;  // of a pair of blocks
  static constexpr int kSlots = 4;
  static constexpr int kTokens = 32;
  static constexpr int kMaxPieces = 5;  // of 64 dims
  static constexpr int kRopeSubtile = kHeadDim / 64 - 1;
  static constexpr int kPieceBytes = kTokens * 64;  // [32 tokens][64 dims]
  static constexpr int kSlotBytes = kMaxPieces * kPieceBytes;

  int index;

  [[nodiscard]] MLA_DEVICE constexpr int block() const { return index / 4; }
  [[nodiscard]] MLA_DEVICE constexpr int part() const { return index % 2; }
  /// Which 32 tokens of the pair's 128.
  [[nodiscard]] MLA_DEVICE constexpr int quarter() const { return block() * 2 + part(); }
  [[nodiscard]] MLA_DEVICE constexpr int group() const {
    constexpr WideGroup kOrder[] = {kLeft0, kRight0, kRight1, kLeft1};
    return kOrder[index / 2];
  }
  [[nodiscard]] MLA_DEVICE constexpr int pieces() const { return index / 2 % 2 == 0 ? 4 : kMaxPieces; }
  [[nodiscard]] MLA_DEVICE constexpr int subtile(int piece) const {
    return piece == kMaxPieces - 1 ? kRopeSubtile : (index < 2 || index >= 6 ? 0 : 4) + piece;
  }

  [[nodiscard]] MLA_DEVICE constexpr int slot() const { return index % kSlots; }
  /// How often the slot was filled before, by pair `pair`'s unit.
  [[nodiscard]] MLA_DEVICE constexpr int use(int pair) const { return pair * (kCount / kSlots) + index / kSlots; }
};

/// `kWorkgroups` of a cluster, each with 64 rows, see the same KV. Blocks hold KV as the products take it: bf16 as it
/// is, e4m3 as f16.
template <int kWorkgroups, DataType kKv>
struct WidePlaces {
  static constexpr bool kFp8 = is_fp8(kKv);
  /// Workgroups that copy to each other. Of e4m3 each takes all of it for itself: what the other would send it is twice
  /// as large once it is f16, and the way between multiprocessors is the narrower one.
  static constexpr int kSharers = kFp8 ? 1 : kWorkgroups;
  static constexpr int kRows = 64;
  static constexpr int kTokens = 64;
  static constexpr int kCopyLanes = 128;
  static constexpr int kComputeLanes = 256;
  static constexpr int kSubtiles = kHeadDim / 64;      // of 64 dims
  static constexpr int kSubtileBytes = kTokens * 128;  // [64 rows][64 dims], swizzled
  static constexpr int kBlockBytes = kSubtiles * kSubtileBytes;
  static constexpr int kRopeSubtile = WideUnit::kRopeSubtile;

  // q as bf16 lies as a block does; as e4m3 in rows, apart by an odd number of 16 bytes against bank conflicts.
  static constexpr int kQueryPitch = kHeadDim + 16;
  static constexpr int kQueryOffset = 2 * kBlockBytes;
  static constexpr int kQueryBytes = kFp8 ? kRows * kQueryPitch : kBlockBytes;
  // e4m3 as it comes from memory: see WideUnit.
  static constexpr int kSlots = kFp8 ? WideUnit::kSlots : 0;
  static constexpr int kSlotBytes = WideUnit::kSlotBytes;
  static constexpr int kSlotOffset = kQueryOffset + kQueryBytes;
  static constexpr int kRowOffset = kSlotOffset + kSlots * kSlotBytes;  // float [4][64]: maximum of block 0, 1; sums
  static constexpr int kPartOffset = kRowOffset + 4 * kRows * 4;
  static constexpr int kBarrierOffset = kPartOffset + 2 * static_cast<int>(sizeof(SplitPart));

  // mbarriers: the places of the four copy groups and of q are empty; q has landed; maximum and P of each block are
  // ready; each subtile has landed, so that the products with it need not wait for the rest of its group; each slot has
  // been filled, and emptied. Every lane that reads or writes what a barrier guards arrives at it, but for the other
  // workgroup's: racecheck sees no other way.
  static constexpr int kBarriers = kWideGroups + 1 + 3 + 2 * kSubtiles + 2 * kSlots;
  static constexpr int kSharedBytes = kBarrierOffset + kBarriers * 8;
  static_assert(kSharedBytes <= Arch::kSharedBytes);

  std::uint32_t base;  // shared memory address
  int member;          // of the cluster

  MLA_DEVICE std::uint32_t barrier(int index) const { return base + kBarrierOffset + index * 8; }
  MLA_DEVICE std::uint32_t empty(int group) const { return barrier(group); }
  MLA_DEVICE std::uint32_t query_empty() const { return barrier(kWideGroups); }
  MLA_DEVICE std::uint32_t query_landed() const { return barrier(kWideGroups + 1); }
  MLA_DEVICE std::uint32_t ready(int block) const { return barrier(kWideGroups + 2 + block); }
  MLA_DEVICE std::uint32_t landed(int block, int index) const {
    return barrier(kWideGroups + 4 + block * kSubtiles + index);
  }
  MLA_DEVICE std::uint32_t filled(int slot) const { return barrier(kWideGroups + 4 + 2 * kSubtiles + slot); }
  MLA_DEVICE std::uint32_t emptied(int slot) const { return filled(kSlots + slot); }
  MLA_DEVICE std::uint32_t subtile(int block, int index) const {
    return base + block * kBlockBytes + index * kSubtileBytes;
  }
  MLA_DEVICE std::uint32_t query() const { return base + kQueryOffset; }
  MLA_DEVICE std::uint32_t slot(int index) const { return base + kSlotOffset + index * kSlotBytes; }
  /// Of the tile, this workgroup's first.
  MLA_DEVICE int first_row() const { return member * kRows; }

  /// One lane, before any other uses a barrier. `by_map`: KV comes by tensor map.
  MLA_DEVICE void init(bool by_map) const {
    for (int group = 0; group < kWideGroups; ++group) mbarrier_init(empty(group), 128 + 4 * (kSharers - 1));
    mbarrier_init(query_empty(), kComputeLanes);
    mbarrier_init(query_landed(), kCopyLanes);
    mbarrier_init(ready(0), 128);
    mbarrier_init(ready(1), 128);
    // The lanes write e4m3 in two parts.
    const std::uint32_t arrivals = kFp8 ? kCopyLanes * 2 : by_map ? 1 : kCopyLanes;
    for (int index = 0; index < kSubtiles; ++index) {
      mbarrier_init(landed(0, index), arrivals);
      mbarrier_init(landed(1, index), arrivals);
    }
    for (int index = 0; index < kSlots; ++index) {
      mbarrier_init(filled(index), by_map ? 1 : kCopyLanes);
      mbarrier_init(emptied(index), kCopyLanes);
    }
    fence_barrier_init();
  }

  /// All lanes of the worker.
  static MLA_DEVICE void meet() {
    if constexpr (kWorkgroups > 1) {
      cluster_arrive();
      cluster_wait();
    } else {
      __syncthreads();
    }
  }

  static MLA_DEVICE WorkerStart start(const WideArguments& arguments) {
    return Arch::load(arguments.plan.starts + Arch::workgroup() / kWorkgroups);
  }
};

}  // namespace mla::sm90
