// What this executable was built from and how.
#pragma once

#include <string>

namespace mla::harness {

/// The git checkout at build time; `sha` is empty where there was none.
struct GitState {
  std::string sha;
  std::string branch;
  bool dirty = false;
};
[[nodiscard]] GitState git_state();

struct BuildInfo {
  std::string version;   // "0.1.0"
  std::string compiler;  // "GNU 12.2.0"
  std::string type;      // "Release"
  std::string flags;     // what bears on speed: optimisation, -march, sanitizers
  std::string targets;   // of kernels, separated by spaces: "cpu sm90"
};
[[nodiscard]] BuildInfo build_info();

/// One line: "mla-harness 0.1.0 (3f2c1a0b9d, main, modified)".
[[nodiscard]] std::string version_line();

}  // namespace mla::harness
