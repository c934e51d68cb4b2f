#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ci/isa/kernel.hpp"

namespace mla::isa {

/// What unit an instruction keeps busy.
enum class Kind {
  matrix,
  lds,
  global,
  global_to_lds,
  scratch,
  wait,
  barrier,
  valu,
  accumulator_move,
  salu,
  branch,
  nop
};

/// The kind by the mnemonic; `operands` tells loads that go straight to LDS.
Kind kind_of(const Instruction& instruction);

/// How many instructions of each kind, and the work that they stand for.
struct Mix {
  int total = 0;
  int matrix = 0;
  int lds = 0;
  int global = 0;         ///< loads, stores and atomics of global memory through registers
  int global_to_lds = 0;  ///< loads of global memory that land in LDS
  int scratch = 0;
  int wait = 0;
  int barrier = 0;
  int valu = 0;
  int accumulator_move = 0;  ///< v_accvgpr_*: moves between register files, cost without work
  int salu = 0;              ///< scalar arithmetic and scalar loads
  int branch = 0;
  int nop = 0;
  std::int64_t matrix_flops = 0;       ///< multiplications and additions of the matrix instructions, a wave
  std::int64_t global_load_bytes = 0;  ///< bytes that the global loads ask for, a wave, all lanes active
};

/// Counts `instructions` of waves of `wavefront_size` lanes.
Mix mix_of(std::span<const Instruction> instructions, int wavefront_size);

/// Multiplications and additions of one matrix instruction, by the shape in its name; 0 if it is not one.
std::int64_t matrix_flops(std::string_view mnemonic);

/// The hottest loop: innermost where matrix instructions are (memory accesses, if the kernel has none), and of those
/// loops the one with the most of them, then the longest. None if the kernel has no loop.
/// A loop is the address range from a branch's target to the last branch back to it.
std::optional<std::span<const Instruction>> hot_loop(const Code& code);

}  // namespace mla::isa
