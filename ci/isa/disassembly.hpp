#pragma once

#include <string_view>
#include <vector>

#include "ci/isa/kernel.hpp"

namespace mla::isa {

/// Parses the text of `llvm-objdump --disassemble OBJECT` of an AMD GPU code object: one Code a symbol.
/// Throws Error at an instruction line without an address.
std::vector<Code> parse_disassembly(std::string_view text);

}  // namespace mla::isa
