// What a compiler made of the GPU kernels, as ci/rocm.sh writes it: the document `mla-isa`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reports/report.hpp"

namespace mla::reports {

struct IsaKernel {
  std::string target;  // "gfx950"
  std::string name;    // "decode.bf16.bf16.16"
  /// By place in the record: "resources.vgpr", "code.matrix", "hot_loop.total". A kernel without a loop has none of the
  /// last group.
  std::map<std::string, std::int64_t> numbers;
  // Limits by the same places: what must not grow, and what must not shrink.
  std::map<std::string, std::int64_t> max;
  std::map<std::string, std::int64_t> min;
};

struct IsaReport {
  std::string compiler;
  std::vector<IsaKernel> kernels;
};

/// Checks the version (mla-isa 1.x), types, and that no kernel is there twice for a target. Documents of 1.0 name a
/// kernel by its signature and have no limits. Throws ReportError.
[[nodiscard]] IsaReport parse_isa_report(const Json& document);

/// Reads strict JSON from a file. Throws ReportError, whose line begins with the path.
[[nodiscard]] IsaReport load_isa_report(const std::filesystem::path& path);

/// Whether the file says so in its first line: its schema, of whatever version, is the first member.
[[nodiscard]] bool holds_isa_report(const std::filesystem::path& path);

}  // namespace mla::reports
