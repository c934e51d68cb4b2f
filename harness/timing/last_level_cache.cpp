#include "harness/timing/last_level_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>

namespace mla::harness {

namespace {

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

}  // namespace

// Not sysconf(_SC_LEVEL3_CACHE_SIZE), which gives a virtual machine the whole package's.
std::int64_t last_level_cache_bytes() {
  std::map<std::string, std::int64_t> caches;  // by the processors that share one
  int last_level = 0;
  for (int cpu = 0;; ++cpu) {
    const std::filesystem::path folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache", cpu);
    if (!std::filesystem::exists(folder)) break;
    for (int index = 0; std::filesystem::exists(folder / fmt::format("index{}", index)); ++index) {
      const std::filesystem::path cache = folder / fmt::format("index{}", index);
      const int level = std::atoi(first_line(cache / "level").c_str());
      if (level < last_level) continue;
      if (level > last_level) caches.clear();
      last_level = level;
      // "32768K"; other units are not in use.
      caches[first_line(cache / "shared_cpu_list")] = std::atoll(first_line(cache / "size").c_str()) * 1024;
    }
  }
  std::int64_t total = 0;
  for (const auto& [processors, bytes] : caches) total += bytes;
  return total;
}

std::int64_t cold_bytes() {
  constexpr std::int64_t kLeast = std::int64_t{64} << 20;
  return std::max(kLeast, 2 * last_level_cache_bytes());
}

}  // namespace mla::harness
