#include "harness/core/build_info.hpp"

#include <fmt/format.h>

namespace mla::harness {

BuildInfo build_info() {
  return {MLA_VERSION, MLA_COMPILER, MLA_BUILD_TYPE, MLA_BUILD_FLAGS, MLA_TARGETS};
}

std::string version_line() {
  const GitState git = git_state();
  const std::string version = "mla-harness " + build_info().version;
  if (git.sha.empty()) return version;
  return fmt::format("{} ({}, {}{})", version, git.sha.substr(0, 10), git.branch, git.dirty ? ", modified" : "");
}

}  // namespace mla::harness
