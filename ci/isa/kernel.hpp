#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mla::isa {

/// Input that is not what the LLVM tools print, or a malformed budget: one line, naming the text and what is wrong.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the compiler wrote about one kernel in its code object.
struct Resources {
  std::string symbol;  ///< mangled name
  int vgpr = 0;        ///< architectural vector registers a lane, rounded to the hardware's steps of 4 if AGPRs follow
  int agpr = 0;        ///< accumulation registers a lane
  int sgpr = 0;        ///< scalar registers a wave
  int lds_bytes = 0;   ///< statically allocated LDS a workgroup
  int dynamic_lds_bytes = 0;   ///< LDS that the host's launch adds; not in the code object
  int scratch_bytes = 0;       ///< private memory a lane
  int vgpr_spills = 0;         ///< vector registers saved to scratch
  int sgpr_spills = 0;         ///< scalar registers saved to vector registers
  int workgroup_size = 0;      ///< largest number of lanes a workgroup (__launch_bounds__)
  int wavefront_size = 0;      ///< lanes a wave
  bool dynamic_stack = false;  ///< scratch grows at run time: its bound is unknown
};

/// One instruction as disassembled.
struct Instruction {
  std::uint64_t address = 0;                 ///< bytes from the start of the section
  std::string mnemonic;                      ///< e.g. v_mfma_f32_16x16x32_bf16
  std::string operands;                      ///< the rest of the text, without the trailing comment
  std::optional<std::uint64_t> target = {};  ///< where a branch inside the kernel goes
};

/// One kernel's code. `instructions` are in address order, without the padding after the end.
struct Code {
  std::string symbol;
  std::vector<Instruction> instructions;
};

}  // namespace mla::isa
