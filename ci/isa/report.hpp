#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ci/isa/kernel.hpp"

namespace mla::isa {

/// Waves that one SIMD can hold at once, by registers, LDS and the hardware's own limit of 8.
/// Throws Error for a target whose limits are not known here.
int waves_per_simd(const Resources& resources, std::string_view target);

/// One code object's kernels as JSON records: target, kernel (demangled), symbol, object, resources, code, hot_loop.
/// `notes` and `disassembly` are the texts of llvm-readelf --notes and llvm-objdump --disassemble; `object` names the
/// file. Throws Error if a kernel of the notes has no code.
std::vector<nlohmann::ordered_json> describe(std::string_view notes, std::string_view disassembly,
                                             const std::string& object);

/// Checks the kernels against a budget (ci/isa/budget.json), one line a violation. A rule
/// `{"kernel": REGEX, "target": REGEX, "max": {PATH: N}, "min": {PATH: N}}` holds for every kernel that both
/// expressions match whole; PATH is a record's place, e.g. "resources.lds_bytes". A rule that matches nothing is a
/// violation too: otherwise a renamed kernel would escape its budget. Throws Error for a malformed budget.
std::vector<std::string> violations(const std::vector<nlohmann::ordered_json>& kernels, const nlohmann::json& budget);

}  // namespace mla::isa
