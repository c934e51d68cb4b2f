#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ci/isa/kernel.hpp"

namespace mla::isa {

/// The metadata of a code object, as printed by `llvm-readelf --notes`.
struct Notes {
  std::string target;              ///< e.g. gfx950
  std::vector<Resources> kernels;  ///< in the order printed
};

/// Parses the text of `llvm-readelf --notes OBJECT`. Throws Error if a kernel lacks a field that the report needs.
Notes parse_notes(std::string_view text);

}  // namespace mla::isa
