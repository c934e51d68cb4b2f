// The copies of the wide decode kernels for e4m3 KV, and of q: by one warpgroup that does nothing else.
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
  static_assert(WideUnit::kTokens == kKvBoxTokens && WideUnit::kTokens * 4 == Places::kCopyLanes);

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

  // All lanes walk the works, because each copies its share of q.
  template <bool kByMap>
  MLA_DEVICE void copy() const {
    Stream stream(arguments_, Places::start(arguments_));
    int queries = 0;
    for (int pair = 0; !stream.done(); ++pair) {
      if (stream.first()) copy_query(stream.work(), queries++);
      if constexpr (kByMap) {
        copy_boxes(stream, pair);
      } else {
        copy_rows(stream, pair);
      }
      stream.advance();
    }
  }

  // One lane a slot: its waits see each use of the slot, as a barrier's parity requires.
  MLA_DEVICE void copy_boxes(const Stream& stream, int pair) const {
    static_assert(WideUnit::kSlots * 32 == Places::kCopyLanes && WideUnit::kCount == 2 * WideUnit::kSlots);
    if (copy_lane() % 32 != 0) return;
    const WideUnit units[] = {{copy_lane() / 32}, {copy_lane() / 32 + WideUnit::kSlots}};
    const Row at[] = {stream.locate(units[0].quarter() * WideUnit::kTokens),
                      stream.locate(units[1].quarter() * WideUnit::kTokens)};
#pragma unroll
    for (int i = 0; i < 2; ++i) copy_boxes(units[i], at[i], units[i].use(pair));
  }
  // Every lane 16 bytes of a row of each piece.
  MLA_DEVICE void copy_rows(const Stream& stream, int pair) const {
#pragma unroll 1
    for (int index = 0; index < WideUnit::kCount; ++index) {
      const WideUnit unit{index};
      const Row at = stream.locate(unit.quarter() * WideUnit::kTokens + copy_lane() / 4);
      copy_rows(unit, stream.address(at), unit.use(pair));
    }
  }

  MLA_DEVICE void await_slot(WideUnit unit, int use) const {
    if (use > 0) mbarrier_wait(places_.emptied(unit.slot()), static_cast<std::uint32_t>(use - 1) & 1U);
  }

  MLA_DEVICE void copy_boxes(WideUnit unit, const Row& at, int use) const {
    await_slot(unit, use);
    const std::uint32_t filled = places_.filled(unit.slot());
    const bool present = at.page >= 0;
    mbarrier_arrive_expect(filled, present ? unit.pieces() * WideUnit::kPieceBytes : 0);
    if (!present) return;
    const std::uint32_t to = places_.slot(unit.slot());
#pragma unroll 1
    for (int piece = 0; piece < unit.pieces(); ++piece) {
      copy_box<1>(to + piece * WideUnit::kPieceBytes, &arguments_.kv_map, unit.subtile(piece) * 64, at.in_page, at.page,
                  filled);
    }
  }

  MLA_DEVICE void copy_rows(WideUnit unit, const std::byte* row, int use) const {
    await_slot(unit, use);
    const std::uint32_t to = places_.slot(unit.slot()) + copy_lane() * 16;
#pragma unroll 1
    for (int piece = 0; piece < unit.pieces(); ++piece) {
      copy_16_or_zero(to + piece * WideUnit::kPieceBytes, row + unit.subtile(piece) * 64 + copy_lane() % 4 * 16,
                      row != nullptr);
    }
    copy_arrive(places_.filled(unit.slot()));
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
