// The copies of the wide decode kernels for bf16 KV, and of q: by one warpgroup that does nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/wide_places.hpp"

namespace mla::sm90 {

template <int kWorkgroups>
class WideCopies {
  using Places = WidePlaces<kWorkgroups, DataType::bf16>;
  using Stream = TileStream<Arch, 2 * Places::kTokens>;
  static constexpr int kTokens = Places::kTokens;
  static constexpr int kSubtiles = Places::kSubtiles;
  static constexpr int kSubtileBytes = Places::kSubtileBytes;

 public:
  MLA_DEVICE WideCopies(const WideArguments& arguments, const Places& places)
      : arguments_(arguments), places_(places) {}

  /// All lanes of the warpgroup.
  MLA_DEVICE void run() const {
    if (arguments_.has_map) {
      copy_boxes();
    } else {
      copy_rows();
    }
  }

 private:
  static MLA_DEVICE int copy_lane() { return static_cast<int>(threadIdx.x) % Places::kCopyLanes; }

  // ---- copies by tensor map: boxes of 64 dims x 32 tokens, so of pages of at least 32 tokens -----------------------

  // A pair of blocks is four boxes of tokens. Lane i holds the page of box i; of a cluster's two workgroups, each
  // copies its half of both blocks.
  struct BoxPair {
    typename Stream::Row at;
    int tokens = 0;  // of the pair, at least one
    int starts_work = -1;
    bool live = false;
  };
  static constexpr int kBoxTokens = kKvBoxTokens;
  static constexpr int kBoxBytes = kBoxTokens * 128;
  static constexpr int kBoxesPerBlock = kTokens / kBoxTokens;

  // All lanes of the copy warpgroup walk the works, because each copies its rows of q; its first warp copies the KV.
  MLA_DEVICE void copy_boxes() const {
    Stream stream(arguments_, Places::start(arguments_));
    int queries = 0;
    BoxPair next = take_boxes(stream);
    for (int pair = 0; next.live; ++pair) {
      const BoxPair now = next;
      next = take_boxes(stream);
      if (now.starts_work >= 0) copy_query(now.starts_work, queries++);
      if (copy_lane() >= 32) continue;
      copy_box_group<0, 4, false>(kLeft0, 0, now, pair);
      copy_box_group<4, 9, false>(kRight0, 0, now, pair);
      copy_box_group<4, 8, false>(kRight1, 1, now, pair);
      copy_box_group<0, 4, true>(kLeft1, 1, now, pair);
    }
  }

  // Whether this lane copies a box of each pair: of a cluster's two workgroups, each has half of both blocks.
  MLA_DEVICE bool owns_box() const {
    return copy_lane() < 2 * kBoxesPerBlock && (kWorkgroups == 1 || copy_lane() % kBoxesPerBlock == places_.member);
  }

  static MLA_DEVICE BoxPair take_boxes(Stream& stream) {
    BoxPair pair;
    pair.live = !stream.done();
    if (!pair.live) return pair;
    if (stream.first()) pair.starts_work = stream.work();
    pair.tokens = stream.tokens_left();
    if (copy_lane() < 2 * kBoxesPerBlock) pair.at = stream.locate(copy_lane() * kBoxTokens);
    stream.advance();
    return pair;
  }

  template <int kBegin, int kEnd, bool kRope>
  MLA_DEVICE void copy_box_group(int group, int block, const BoxPair& pair, int use) const {
    if (use > 0) mbarrier_wait(places_.empty(group), static_cast<std::uint32_t>(use - 1) & 1U);
    const int expected = kRope && copy_lane() == kEnd - kBegin ? Places::kRopeSubtile : kBegin + copy_lane();
    if (copy_lane() < kEnd - kBegin + (kRope ? 1 : 0)) {
      const int boxes = (pair.tokens - block * kTokens + kBoxTokens - 1) / kBoxTokens;
      const int landing = boxes < 0 ? 0 : boxes < kBoxesPerBlock ? boxes : kBoxesPerBlock;
      mbarrier_arrive_expect(places_.landed(block, expected), landing * kBoxBytes);
    }
    if (!owns_box() || copy_lane() / kBoxesPerBlock != block || pair.at.page < 0) return;
    const int box = copy_lane() % kBoxesPerBlock;
    const std::uint32_t to = places_.subtile(block, 0) + box * kBoxBytes;
#pragma unroll
    for (int index = kBegin; index < kEnd; ++index) copy_subtile_box(to, block, index, pair.at);
    if constexpr (kRope) copy_subtile_box(to, block, Places::kRopeSubtile, pair.at);
  }
  MLA_DEVICE void copy_subtile_box(std::uint32_t to, int block, int index, const typename Stream::Row& at) const {
    copy_box<kWorkgroups>(to + index * kSubtileBytes, &arguments_.kv_map, index * 64, at.in_page, at.page,
                          places_.landed(block, index));
  }

  // ---- copies by ordinary lanes: any page size; each workgroup of a cluster for itself --------------------------
  //
  // Eight lanes to a row of 128 bytes, each with rows lane / 8 + 16 i of every subtile. The eight hold the addresses of
  // their four rows between them, one a lane, because registers are dear here.

  static constexpr int kRowsPerLane = 4;
  static MLA_DEVICE int own_row() {
    return copy_lane() / 8 + 16 * (copy_lane() % kRowsPerLane);
  }

  // This lane's rows of a pair of blocks; null past the end, which the copy fills with zeros so that 0 * P stays 0.
  struct Pair {
    const std::byte* blocks[2] = {nullptr, nullptr};
    int starts_work = -1;
    bool live = false;
  };

  MLA_DEVICE void copy_rows() const {
    Stream stream(arguments_, Places::start(arguments_));
    typename Stream::Row located[2];
    locate(stream, located);
    int queries = 0;
    Pair now = take(stream, located);
    for (int pair = 0; now.live; ++pair) {
      const Pair next = take(stream, located);
      if (now.starts_work >= 0) copy_query(now.starts_work, queries++);
      copy_group<0, 4, false>(kLeft0, 0, now.blocks[0], pair);
      copy_group<4, 9, false>(kRight0, 0, now.blocks[0], pair);
      copy_group<4, 8, false>(kRight1, 1, now.blocks[1], pair);
      copy_group<0, 4, true>(kLeft1, 1, now.blocks[1], pair);
      now = next;
    }
  }

  static MLA_DEVICE void locate(const Stream& stream, typename Stream::Row (&located)[2]) {
    located[0] = stream.locate(own_row());
    located[1] = stream.locate(kTokens + own_row());
  }

  static MLA_DEVICE Pair take(Stream& stream, typename Stream::Row (&located)[2]) {
    Pair pair;
    pair.live = !stream.done();
    if (!pair.live) return pair;
    if (stream.first()) pair.starts_work = stream.work();
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      pair.blocks[block] = stream.address(located[block]);
    }
    stream.advance();
    locate(stream, located);
    return pair;
  }

  // Subtiles [kBegin, kEnd) of a block, and the rope subtile too where asked.
  template <int kBegin, int kEnd, bool kRope>
  MLA_DEVICE void copy_group(int group, int block, const std::byte* row, int use) const {
    if (use > 0) mbarrier_wait(places_.empty(group), static_cast<std::uint32_t>(use - 1) & 1U);
    copy_subtiles<kBegin, kEnd, kRope>(places_.subtile(block, 0), row);
#pragma unroll
    for (int index = kBegin; index < kEnd; ++index) copy_arrive(places_.landed(block, index));
    if constexpr (kRope) copy_arrive(places_.landed(block, Places::kRopeSubtile));
  }

  template <int kBegin, int kEnd, bool kRope>
  static MLA_DEVICE void copy_subtiles(std::uint32_t block, const std::byte* own) {
    const int unit = copy_lane() % 8;
#pragma unroll
    for (int i = 0; i < kRowsPerLane; ++i) {
      const auto raw = __shfl_sync(0xffffffffU, reinterpret_cast<std::uint64_t>(own), i, 8);
      const auto* row = reinterpret_cast<const std::byte*>(raw);
      const std::uint32_t to = block + swizzled(copy_lane() / 8 + 16 * i, unit);
#pragma unroll
      for (int index = kBegin; index < kEnd; ++index) {
        copy_16_or_zero(to + index * kSubtileBytes, row + index * 128 + unit * 16, row != nullptr);
      }
      if constexpr (kRope) {
        copy_16_or_zero(to + Places::kRopeSubtile * kSubtileBytes, row + Places::kRopeSubtile * 128 + unit * 16,
                        row != nullptr);
      }
    }
  }

  MLA_DEVICE void copy_query(int work, int use) const {
    if (use > 0) mbarrier_wait(places_.query_empty(), static_cast<std::uint32_t>(use - 1) & 1U);
    copy_subtiles<0, kSubtiles, false>(places_.query(),
                                       query_address<Arch>(arguments_, work, places_.first_row() + own_row()));
    copy_arrive(places_.query_landed());
  }

  const WideArguments& arguments_;
  const Places& places_;
};

}  // namespace mla::sm90
