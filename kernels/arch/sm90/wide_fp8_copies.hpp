// The copies of the wide decode kernels for e4m3 KV and q: by one warpgroup that does nothing else.
//
// The products take V with its columns along the rows of shared memory, which they can for 16-bit elements alone. So KV
// lands in slots as it is and the lanes write it to the blocks as f16, which holds it exactly; each workgroup of a
// cluster converts half of every block, for both. (Products of e4m3 itself, with V transposed, would be twice as fast,
// but accumulate in about 14 bits.)
//
// Of each 16 dims, 4t..4t+3 stand at 2t, 2t+1, 2t+8, 2t+9 in a block, as lane t of four holds them in the left operand:
// so a word of q is a lane's share of a product, and its share of the output is 4 columns side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/wide_places.hpp"

namespace mla::sm90 {

template <int kWorkgroups>
class WideFp8Copies {
  using Places = WidePlaces<kWorkgroups, DataType::e4m3fn>;
  using Stream = TileStream<Arch, 2 * Places::kTokens>;
  using Row = typename Stream::Row;
  static constexpr int kSlots = Places::kSlots;
  static constexpr int kSlotTokens = Places::kSlotTokens;
  static constexpr int kPieceBytes = kSlotTokens * 64;  // of a slot: 32 tokens x 64 dims
  static_assert(kSlotTokens == kKvBoxTokens && kSlotTokens * 4 == Places::kCopyLanes);

  // A unit is what a slot takes: 32 tokens of a copy group.
  static constexpr int kUnitsPerGroup = kWorkgroups == 1 ? 2 : 1;
  static constexpr int kUnits = kWideGroups * kUnitsPerGroup;  // of a pair of blocks

 public:
  MLA_DEVICE WideFp8Copies(const WideArguments& arguments, const Places& places)
      : arguments_(arguments), places_(places) {}

  /// All lanes of the warpgroup.
  MLA_DEVICE void run() const {
    if (arguments_.has_map) {
      copy<true>();
    } else {
      copy<false>();
    }
  }

 private:
  static MLA_DEVICE int copy_lane() { return static_cast<int>(threadIdx.x) % Places::kCopyLanes; }

  /// Which tokens and columns a unit has.
  template <int kUnit>
  struct Unit {
    static constexpr WideGroup kOrder[] = {kLeft0, kRight0, kRight1, kLeft1};
    static constexpr WideGroup kGroup = kOrder[kUnit / kUnitsPerGroup];
    static constexpr int kBlock = kGroup == kLeft1 || kGroup == kRight1 ? 1 : 0;
    static constexpr int kPieces = kGroup == kRight0 || kGroup == kLeft1 ? 5 : 4;
    static constexpr int kSlot = kUnit % kSlots;
    static constexpr int kPart = kUnit % kUnitsPerGroup;
    static constexpr int kUse = kUnit / kSlots;  // of the slot, in this pair
    static constexpr int subtile(int piece) {
      if (kGroup == kRight0 || kGroup == kRight1) return 4 + piece;
      return piece < 4 ? piece : Places::kRopeSubtile;
    }
  };
  /// Which 32 tokens of a block.
  template <int kUnit>
  MLA_DEVICE int half() const {
    return kWorkgroups == 1 ? Unit<kUnit>::kPart : places_.member;
  }

  // A pair of blocks. By map, lane i holds the page of tokens 32 i on; else each lane the pages of its own row of the
  // 32, of each block and part.
  template <bool kByMap>
  struct Pair {
    Row at[kByMap ? 1 : 2 * kUnitsPerGroup];
    int starts_work = -1;
    bool live = false;
  };

  template <bool kByMap>
  MLA_DEVICE Pair<kByMap> take(Stream& stream) const {
    Pair<kByMap> pair;
    pair.live = !stream.done();
    if (!pair.live) return pair;
    if (stream.first()) pair.starts_work = stream.work();
    if constexpr (kByMap) {
      if (copy_lane() < 4) pair.at[0] = stream.locate(copy_lane() * kSlotTokens);
    } else {
#pragma unroll
      for (int block = 0; block < 2; ++block) {
#pragma unroll
        for (int part = 0; part < kUnitsPerGroup; ++part) {
          const int of_block = kWorkgroups == 1 ? part : places_.member;
          pair.at[block * kUnitsPerGroup + part] =
              stream.locate(block * Places::kTokens + of_block * kSlotTokens + copy_lane() / 4);
        }
      }
    }
    stream.advance();
    return pair;
  }

  template <bool kByMap>
  MLA_DEVICE void copy() const {
    Stream stream(arguments_, Places::start(arguments_));
    Pair<kByMap> now = take<kByMap>(stream);
    if (!now.live) return;
    fill<0>(now);
    fill<1>(now);
    fill<2>(now);
    fill<3>(now);
    int queries = 0;
    for (int pair = 0; now.live; ++pair) {
      const Pair<kByMap> next = take<kByMap>(stream);
      if (now.starts_work >= 0) copy_query(now.starts_work, queries++);
      pass<0>(now, next, pair);
      pass<1>(now, next, pair);
      pass<2>(now, next, pair);
      pass<3>(now, next, pair);
      if constexpr (kUnits > 4) {
        pass<4>(now, next, pair);
        pass<5>(now, next, pair);
        pass<6>(now, next, pair);
        pass<7>(now, next, pair);
      }
      now = next;
    }
  }

  // Converts a unit and fills its slot with the one that takes it next.
  template <int kUnit, bool kByMap>
  MLA_DEVICE void pass(const Pair<kByMap>& now, const Pair<kByMap>& next, int pair) const {
    if constexpr (kByMap) {
      mbarrier_wait(places_.filled(Unit<kUnit>::kSlot),
                    static_cast<std::uint32_t>(pair * (kUnits / kSlots) + Unit<kUnit>::kUse) & 1U);
    } else {
      copy_wait<kSlots - 1>();
    }
    convert<kUnit>(pair);
    // By rows each lane fills what it alone reads.
    if constexpr (kByMap) warpgroup_barrier<4>();
    if constexpr (kUnit + kSlots < kUnits) {
      fill<kUnit + kSlots>(now);
    } else {
      fill<kUnit + kSlots - kUnits>(next);
    }
  }

  template <int kUnit>
  MLA_DEVICE void fill(const Pair<true>& pair) const {
    using Here = Unit<kUnit>;
    if (copy_lane() != Here::kBlock * 2 + half<kUnit>() || !pair.live) return;
    const std::uint32_t filled = places_.filled(Here::kSlot);
    const bool present = pair.at[0].page >= 0;
    mbarrier_arrive_expect(filled, present ? Here::kPieces * kPieceBytes : 0);
    if (!present) return;
#pragma unroll
    for (int piece = 0; piece < Here::kPieces; ++piece) {
      copy_box<1>(places_.slot(Here::kSlot) + piece * kPieceBytes, &arguments_.kv_map, Here::subtile(piece) * 64,
                  pair.at[0].in_page, pair.at[0].page, filled);
    }
  }
  template <int kUnit>
  MLA_DEVICE void fill(const Pair<false>& pair) const {
    using Here = Unit<kUnit>;
    const Row& at = pair.at[Here::kBlock * kUnitsPerGroup + Here::kPart];
    const PagedKvView& kv = arguments_.inputs.kv;
    const bool present = pair.live && at.page >= 0;
    const auto* row =
        present ? static_cast<const std::byte*>(kv.data) + at.page * kv.page_stride + at.in_page * kv.token_stride
                : nullptr;
#pragma unroll
    for (int piece = 0; piece < Here::kPieces; ++piece) {
      copy_16_or_zero(places_.slot(Here::kSlot) + piece * kPieceBytes + copy_lane() * 16,
                      row + Here::subtile(piece) * 64 + copy_lane() % 4 * 16, present);
    }
    // Also where nothing is copied: the waits count.
    copy_commit();
  }

  template <int kUnit>
  MLA_DEVICE void convert(int pair) const {
    using Here = Unit<kUnit>;
    const std::uint32_t from = places_.slot(Here::kSlot) + copy_lane() * 16;
    // Read before the place is empty: what is on the critical path is short then.
    uint4 raw[Here::kPieces];
#pragma unroll
    for (int piece = 0; piece < Here::kPieces; ++piece) raw[piece] = load_shared(from + piece * kPieceBytes);
    if (Here::kPart == 0 && pair > 0) {
      mbarrier_wait(places_.empty(Here::kGroup), static_cast<std::uint32_t>(pair - 1) & 1U);
    }
#pragma unroll
    for (int piece = 0; piece < Here::kPieces; ++piece) {
      convert_piece(raw[piece], half<kUnit>(), Here::kBlock, Here::subtile(piece));
    }
  }
  MLA_DEVICE void convert_piece(const uint4& raw, int half, int block, int subtile) const {
    const int row = half * kSlotTokens + copy_lane() / 4;
    const int unit = copy_lane() % 4 * 2;
    const std::uint32_t to = places_.subtile(block, subtile);
    const std::uint32_t landed = places_.landed(block, subtile);
    store(to + swizzled(row, unit), landed,
          {f16x2_from_low(raw.x), f16x2_from_low(raw.y), f16x2_from_low(raw.z), f16x2_from_low(raw.w)});
    store(to + swizzled(row, unit + 1), landed,
          {f16x2_from_high(raw.x), f16x2_from_high(raw.y), f16x2_from_high(raw.z), f16x2_from_high(raw.w)});
    fence_async_proxy();
    // The other workgroup's half comes as bytes.
    if (kWorkgroups > 1 && copy_lane() == 0) {
      mbarrier_arrive_expect(landed, kSlotTokens * 128);
    } else {
      mbarrier_arrive(landed);
    }
  }
  MLA_DEVICE void store(std::uint32_t to, std::uint32_t landed, const uint4& value) const {
    store_shared(to, value);
    if constexpr (kWorkgroups > 1) store_shared_at(to, landed, 1 - places_.member, value);
  }

  MLA_DEVICE void copy_query(int work, int use) const {
    if (use > 0) mbarrier_wait(places_.query_empty(), static_cast<std::uint32_t>(use - 1) & 1U);
    const int row = copy_lane() / 2;
    const int first = copy_lane() % 2 * 16;
    const std::byte* from = query_address<Arch>(arguments_, work, places_.first_row() + row) + first;
    const std::uint32_t to = places_.query() + row * Places::kQueryPitch + first;
#pragma unroll
    for (int at = 0; at < kHeadDim; at += 32) copy_16_or_zero(to + at, from + at, true);
    copy_arrive(places_.query_landed());
  }

  const WideArguments& arguments_;
  const Places& places_;
};

}  // namespace mla::sm90
