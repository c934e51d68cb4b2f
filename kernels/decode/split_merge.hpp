// Where the results of a work go, and the merge of split tiles by the workgroups that computed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/decode/arguments.hpp"
#include "kernels/merge/merge_tile.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla {

/// Where one row of a tile is written: float32 `partial` where the tile is split, bf16 `direct` where it is not.
struct RowSink {
  std::uint16_t* direct;
  float* partial;
  float* lse;
};

MLA_DEVICE RowSink row_sink(const DecodeArguments& arguments, const Work& work, int row, int tile_rows) {
  if (work.slot >= 0) {
    const std::int64_t at = std::int64_t{work.slot} * tile_rows + row;
    return {nullptr, arguments.plan.partial_out + at * kValueDim, arguments.plan.partial_lse + at};
  }
  const int of_request = work.row_begin + row;
  const int request_token = of_request / arguments.inputs.heads;
  const std::int64_t head = of_request - request_token * arguments.inputs.heads;
  const std::int64_t token = std::int64_t{work.q_token} + request_token;
  const OutputView& out = arguments.outputs.out;
  const LseView& lse = arguments.outputs.lse;
  return {static_cast<std::uint16_t*>(out.data) + token * out.token_stride + head * out.head_stride, nullptr,
          lse.data + token * lse.token_stride + head * lse.head_stride};
}

/// A tile whose rows see no token: its only work, so never a part of it. All compute lanes.
template <class Arch>
MLA_DEVICE void write_empty(const DecodeArguments& arguments, const Work& work) {
  for (int row = 0; row < work.row_count; ++row) {
    const RowSink sink = row_sink(arguments, work, row, 0);
    for (int column = Arch::thread(); column < kValueDim; column += Arch::kThreads) {
      Arch::store(sink.direct + column, std::uint16_t{0});
    }
    if (Arch::thread() == 0) Arch::store(sink.lse, -std::numeric_limits<float>::infinity());
  }
}

/// A work of this worker that is a part of a split tile.
struct SplitPart {
  Reduction reduction;
  std::int32_t slot = -1;
  std::int32_t index = 0;  // of the reduction
};

/// The merge inside the decode launch. A worker has at most two parts: its first work and its last.
class SplitParts {
 public:
  /// `parts`: two, in shared memory.
  MLA_DEVICE explicit SplitParts(SplitPart* parts) : parts_(parts) {}

  /// Before the first tile: what the merge must know is three dependent loads away, each of microseconds while the
  /// memory is busy. All compute lanes; a barrier must come before `merge`.
  template <class Arch>
  MLA_DEVICE void look_up(const DecodeArguments& arguments, const WorkerStart& start) const {
    const int which = Arch::thread();
    if (which > 1) return;
    SplitPart part;
    if (which == 0 && start.first_work < start.end_work) part.slot = start.first.slot;
    if (which == 1 && start.first_work < start.end_work - 1) {
      part.slot = Arch::load(&arguments.plan.works[start.end_work - 1].slot);
    }
    if (part.slot >= 0) {
      part.index = Arch::load(arguments.plan.slot_reduction + part.slot);
      part.reduction = Arch::load(arguments.plan.reductions + part.index);
    }
    parts_[which] = part;
  }

  /// Every worker that contributed to a split tile merges its share of the tile's rows. It announces its parts, and
  /// waits for the others', only after all of its own works: one fence instead of two, and nobody waits for a waiting
  /// worker. All compute lanes; `shared` is memory that the works no longer use. Where a worker is `kMembers`
  /// workgroups, each that calls is one of them and takes its part of the worker's share.
  template <class Arch, int kRows, int kMembers = 1>
  MLA_DEVICE void merge(const DecodeArguments& arguments, std::byte* shared, int member = 0) const {
    Arch::barrier();
    if (parts_[0].slot < 0 && parts_[1].slot < 0) return;
    if (Arch::thread() == 0) announce<Arch>(arguments);
      // Not unrolled: the code runs once, and fetching it costs more than the loop.
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      const SplitPart& part = parts_[i];
      if (part.slot < 0) continue;
      int* arrivals = arguments.plan.arrivals + part.index;
      const int shares = part.reduction.splits * kMembers;
      const int share = (part.slot - part.reduction.slot_begin) * kMembers + member;
      if (Arch::thread() == 0) Arch::await(arrivals, shares);
      Arch::barrier();
      // Each in its own memory: no barrier separates the two.
      MergeTile<Arch, kRows>::run(arguments.outputs, arguments.plan, arguments.inputs.heads, part.reduction, share,
                                  shares, shared + i * MergeTile<Arch, kRows>::kSharedBytes);
      // The last to leave makes the counter ready for the next launch of the same plan.
      if (Arch::thread() == 0 && Arch::arrive(arrivals) == 2 * shares - 1) Arch::store(arrivals, 0);
    }
  }

 private:
  template <class Arch>
  MLA_DEVICE void announce(const DecodeArguments& arguments) const {
    Arch::publish();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (parts_[i].slot >= 0) Arch::arrive(arguments.plan.arrivals + parts_[i].index);
    }
  }

  SplitPart* parts_;
};

}  // namespace mla
