// The planner as a kernel of one workgroup: what a graph captures in front of decode.
#pragma once

#include <cstddef>

#include "kernels/plan/lanes.hpp"
#include "kernels/plan/planner.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

template <class Arch>
class PlanKernel {
 public:
  struct Arguments {
    PlanProblem problem;
    PlanView plan;
  };

 private:
  struct Group {
    static MLA_DEVICE int thread() { return Arch::thread(); }
    static MLA_DEVICE void barrier() { Arch::barrier(); }
  };
  using Lanes = plan::GroupLanes<Group, Arch::kPlanThreads>;
  struct Shared {
    typename Lanes::Shared lanes;
    plan::State state;
  };

 public:
  static constexpr int kThreads = Arch::kPlanThreads;
  static constexpr int kSharedBytes = sizeof(Shared);

  static MLA_DEVICE void run(const Arguments& arguments) {
    auto& shared = *reinterpret_cast<Shared*>(Arch::shared_memory());
    Lanes lanes(shared.lanes);
    plan::Planner<Lanes>(arguments.problem, arguments.plan, lanes, shared.state).run();
  }
};

}  // namespace mla
