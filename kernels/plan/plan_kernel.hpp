// The planner as a launch of one workgroup: what a graph captures before decode and merge.
#pragma once

#include <cstdint>

#include "kernels/plan/lanes.hpp"
#include "kernels/plan/planner.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

struct PlanArguments {
  PlanProblem problem;
  PlanView plan;
};

/// Launched with one workgroup of `Arch::kPlanThreads` lanes. Lengths are read from the problem's arrays at run time,
/// so that a captured launch replays with whatever they hold then; errors go to PlanHeader::error.
template <class Arch>
class PlanKernel {
  struct Group {
    static MLA_DEVICE std::int32_t thread() { return Arch::thread(); }
    static MLA_DEVICE void barrier() { Arch::barrier_all(); }
    static MLA_DEVICE std::int32_t shuffle_xor(std::int32_t value, std::int32_t mask) {
      return Arch::shuffle_xor(value, mask);
    }
  };
  using Lanes = plan::GroupLanes<Group, Arch::kPlanThreads>;
  struct Shared {
    typename Lanes::Shared lanes;
    plan::State state;
  };

 public:
  using Arguments = PlanArguments;
  static constexpr int kThreads = Arch::kPlanThreads;
  static constexpr int kSharedBytes = sizeof(Shared);

  static MLA_DEVICE void run(const PlanArguments& arguments) {
    Shared& shared = *static_cast<Shared*>(static_cast<void*>(Arch::shared_memory()));
    Lanes lanes(shared.lanes);
    plan::Planner<Lanes>(arguments.problem, arguments.plan, lanes, shared.state).run();
  }
};

}  // namespace mla
