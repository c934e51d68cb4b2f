// Turns e4m3 KV into the f16 that the wide decode kernels multiply: by one warpgroup that does nothing else.
//
// The products take V with its columns along the rows of shared memory, which they can for 16-bit elements alone. So KV
// lands in slots as it is and the lanes write it to the blocks as f16, which holds it exactly. (Products of e4m3
// itself, with V transposed, would be twice as fast, but accumulate in about 14 bits.) Each workgroup of a cluster does
// so for itself: what it would send to the other is twice as large once it is f16.
//
// Of each 16 dims, 4t..4t+3 stand at 2t, 2t+1, 2t+8, 2t+9 in a block, as lane t of four holds them in the left operand:
// so a word of q is a lane's share of a product, and its share of the output is 4 columns side by side.
#pragma once

#include <cstdint>

#include "kernels/arch/sm90/wide_places.hpp"
#include "mla/plan.hpp"

namespace mla::sm90 {

template <int kWorkgroups>
class WideFp8Conversion {
  using Places = WidePlaces<kWorkgroups, DataType::e4m3fn>;

 public:
  MLA_DEVICE WideFp8Conversion(const WideArguments& arguments, const Places& places)
      : arguments_(arguments), places_(places) {}

  /// All lanes of the warpgroup.
  MLA_DEVICE void run() const {
    const WorkerStart own = Places::start(arguments_);
    int pair = 0;
    for (int index = own.first_work; index < own.end_work; ++index) {
      const Work* work = arguments_.plan.works + index;
      const int end = Arch::load(&work->kv_end);
      for (int begin = Arch::load(&work->kv_begin); begin < end; begin += 2 * Places::kTokens, ++pair) {
        convert<0>(pair);
        convert<1>(pair);
        convert<2>(pair);
        convert<3>(pair);
        convert<4>(pair);
        convert<5>(pair);
        convert<6>(pair);
        convert<7>(pair);
      }
    }
  }

 private:
  static MLA_DEVICE int lane() { return static_cast<int>(threadIdx.x) % Places::kCopyLanes; }

  template <int kUnit>
  MLA_DEVICE void convert(int pair) const {
    constexpr WideUnit kHere{kUnit};
    mbarrier_wait(places_.filled(kHere.slot()), static_cast<std::uint32_t>(kHere.use(pair)) & 1U);
    const std::uint32_t from = places_.slot(kHere.slot()) + lane() * 16;
    // Read before the place is empty: what is on the critical path is short then.
    uint4 raw[kHere.pieces()];
#pragma unroll
    for (int piece = 0; piece < kHere.pieces(); ++piece) {
      raw[piece] = load_shared(from + piece * WideUnit::kPieceBytes);
    }
    // An mbarrier, whose arrival comes after the loads before it: with a named barrier in its place a row in two
    // million was wrong, as if the copy engine had overwritten what was still to be loaded.
    mbarrier_arrive(places_.emptied(kHere.slot()));
    if (kHere.part() == 0 && pair > 0) {
      mbarrier_wait(places_.empty(kHere.group()), static_cast<std::uint32_t>(pair - 1) & 1U);
    }
#pragma unroll
    for (int piece = 0; piece < kHere.pieces(); ++piece) {
      store(raw[piece], kHere.part(), places_.subtile(kHere.block(), kHere.subtile(piece)));
    }
    // Once for all of them: a fence takes as long as a piece.
    fence_async_proxy();
#pragma unroll
    for (int piece = 0; piece < kHere.pieces(); ++piece) {
      mbarrier_arrive(places_.landed(kHere.block(), kHere.subtile(piece)));
    }
  }

  static MLA_DEVICE void store(const uint4& raw, int part, std::uint32_t subtile) {
    const int row = part * WideUnit::kTokens + lane() / 4;
    const int column = lane() % 4 * 2;
    store_shared(subtile + swizzled(row, column),
                 {f16x2_from_low(raw.x), f16x2_from_low(raw.y), f16x2_from_low(raw.z), f16x2_from_low(raw.w)});
    store_shared(subtile + swizzled(row, column + 1),
                 {f16x2_from_high(raw.x), f16x2_from_high(raw.y), f16x2_from_high(raw.z), f16x2_from_high(raw.w)});
  }

  const WideArguments& arguments_;
  const Places& places_;
};

}  // namespace mla::sm90
