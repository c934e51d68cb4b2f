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

/// What the host launches a kernel with.
struct Launch {
  std::string kernel;         ///< the type that the kernel `entry<type>` runs
  std::string name;           ///< short, e.g. "decode.bf16.bf16.16"
  int dynamic_lds_bytes = 0;  ///< of a workgroup
};

/// Reads the output of mla-launch-shapes: a list of {"kernel", "name", "shared_bytes"}. Throws Error.
std::vector<Launch> parse_launches(const nlohmann::json& list);

/// One code object's kernels as JSON records: target, name, kernel (demangled), symbol, object, resources, code,
/// hot_loop. A kernel without a launch has no dynamic LDS, and its demangled name as its name. `notes` and
/// `disassembly` are the texts of llvm-readelf --notes and llvm-objdump --disassemble; `object` names the file.
/// Throws Error if a kernel of the notes has no code.
std::vector<nlohmann::ordered_json> describe(std::string_view notes, std::string_view disassembly,
                                             const std::string& object, const std::vector<Launch>& launches = {});

/// Checks the kernels against a budget (ci/isa/budget.json), one line a violation. A rule
/// `{"why": TEXT, "kernel": REGEX, "target": REGEX, "max": {PATH: N}, "min": {PATH: N}}` holds for every kernel whose
/// name and target match whole; PATH is a record's place, e.g. "resources.lds_bytes". A rule for a target that is there
/// and that matches no kernel of it is a violation too: otherwise a renamed kernel would escape its budget. Throws
/// Error for a malformed budget.
std::vector<std::string> violations(const std::vector<nlohmann::ordered_json>& kernels, const nlohmann::json& budget);

/// Writes into each kernel's record, as "budget", the tightest limits that its rules give: a comparison of two reports
/// can then tell what must not get worse. Throws Error for a malformed budget.
void attach_budget(std::vector<nlohmann::ordered_json>& kernels, const nlohmann::json& budget);

}  // namespace mla::isa
