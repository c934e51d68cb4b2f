// The merge as a launch of its own, where a decode workgroup cannot wait for another.
#pragma once

#include "kernels/decode/arguments.hpp"
#include "kernels/merge/merge_tile.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

/// Workgroups are numbered reduction-major, kShares a reduction; those past the plan's last reduction leave at once,
/// because the number of reductions is known on the device only.
template <class Arch, int kRows>
class MergeKernel {
 public:
  using Arguments = DecodeArguments;
  static constexpr int kThreads = Arch::kThreads;
  static constexpr int kSharedBytes = MergeTile<Arch, kRows>::kSharedBytes;
  static constexpr int kShares = kRows / 2;

  static MLA_DEVICE void run(const DecodeArguments& arguments) {
    const int index = Arch::workgroup() / kShares;
    if (index >= Arch::load(&arguments.plan.header->num_reductions)) return;
    const Reduction reduction = Arch::load(arguments.plan.reductions + index);
    MergeTile<Arch, kRows>::template run<kShares>(arguments.outputs, arguments.plan, arguments.inputs.heads, reduction,
                                                  Arch::workgroup() % kShares, kShares, Arch::shared_memory());
  }
};

}  // namespace mla
