// Which arguments of a launch are kept in vector registers.
#pragma once

#include "kernels/decode/arguments.hpp"
#include "kernels/plan/plan_kernel.hpp"
#include "kernels/runtime/target.hpp"

#if defined(__HIP__)

namespace mla {

namespace cdna {

template <class T>
MLA_DEVICE void to_vector_register(T& value) {
  asm volatile("" : "+v"(value));
}

}  // namespace cdna

/// Where results go is combined with a lane's row and nothing else, once a work: it can wait in vector registers, of
/// which there are enough.
template <class Kernel>
MLA_DEVICE void free_scalar_registers(DecodeArguments& arguments, const Kernel* /*tag*/) {
  const auto move = [](auto& value) { cdna::to_vector_register(value); };
  move(arguments.outputs.lse.data);
  move(arguments.outputs.lse.token_stride);
  move(arguments.outputs.lse.head_stride);
  move(arguments.plan.partial_out);
  move(arguments.plan.partial_lse);
  if constexpr (requires { Kernel::Traits::kTokens; }) {
    // 64 rows of bf16 need nearly all vector registers, and only half as many scalar ones for page numbers as fp8.
    if constexpr (Kernel::kRows < 64 || Kernel::Traits::kTokens > 32) {
      move(arguments.outputs.out.data);
      move(arguments.outputs.out.token_stride);
      move(arguments.outputs.out.head_stride);
    }
    if constexpr (Kernel::kRows < 64) {
      move(arguments.inputs.q.data);
      move(arguments.inputs.q.token_stride);
      move(arguments.inputs.q.head_stride);
    }
  }
}

/// What the planner writes after all else, a lane an element.
template <class Kernel>
MLA_DEVICE void free_scalar_registers(PlanArguments& arguments, const Kernel* /*tag*/) {
  const auto move = [](auto& value) { cdna::to_vector_register(value); };
  move(arguments.plan.works);
  move(arguments.plan.reductions);
  move(arguments.plan.slot_reduction);
  move(arguments.plan.arrivals);
  move(arguments.plan.worker_slots);
  move(arguments.plan.work_indptr);
  move(arguments.plan.header);
  move(arguments.plan.starts);
  move(arguments.plan.tile_request);
  move(arguments.plan.tile_row_tile);
}

}  // namespace mla

#endif
