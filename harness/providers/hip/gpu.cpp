#include "harness/providers/hip/gpu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace mla::harness::hip {

namespace {

// Of a node's "properties", lines of a name and a number: 90500 is gfx950, 90402 gfx942, 90010 gfx90a; 0 is a CPU.
int gfx_target_version(const std::filesystem::path& node) {
  std::ifstream properties(node / "properties");
  std::string name;
  for (std::uint64_t value = 0; properties >> name >> value;) {
    if (name == "gfx_target_version") return static_cast<int>(value);
  }
  return 0;
}

}  // namespace

std::string amd_arch(const std::filesystem::path& nodes) {
  std::error_code none;
  std::vector<std::pair<int, int>> gpus;  // number of the node, version
  for (const auto& node : std::filesystem::directory_iterator(nodes, none)) {
    const std::string number = node.path().filename().string();
    if (number.empty() || !std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    if (const int version = gfx_target_version(node.path()); version > 0) gpus.emplace_back(std::stoi(number), version);
  }
  if (gpus.empty()) return "";
  const int version = std::min_element(gpus.begin(), gpus.end())->second;
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace mla::harness::hip
