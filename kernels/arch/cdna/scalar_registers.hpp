// Where the arguments of a decode launch are kept.
#pragma once

#include "kernels/decode/arguments.hpp"
#include "kernels/runtime/target.hpp"

#if defined(__HIP__)

namespace mla {

/// Where results go is combined with a lane's row and nothing else, once a work: it can wait in vector registers, of
/// which there are enough.
template <class Kernel>
MLA_DEVICE void free_scalar_registers(DecodeArguments& arguments, const Kernel* /*tag*/) {
  const auto move = [](auto& value) { asm volatile("" : "+v"(value)); };
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

}  // namespace mla

#endif
