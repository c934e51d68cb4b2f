#include "harness/runner/environment.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <Eigen/Core>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/build_info.hpp"

namespace mla::harness {

namespace {

// The value after `key` in a file of "key<separator>value" lines, "" where there is none.
std::string value_in(const std::filesystem::path& file, std::string_view key, char separator) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string name = line.substr(0, at);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    std::string value = line.substr(at + 1);
    value.erase(0, std::min(value.find_first_not_of(" \t\""), value.size()));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    return value;
  }
  return "";
}

std::int64_t kilobytes_of(const std::string& text) {
  std::istringstream stream(text);
  std::int64_t value = 0;
  stream >> value;
  return value * 1024;
}

// What /proc is mounted may speak for a container alone; without it, the kernel's own count has to do.
std::int64_t memory_bytes(const std::filesystem::path& meminfo, std::string_view key,
                          unsigned long sysinfo::*counterpart) {
  if (const std::string value = value_in(meminfo, key, ':'); !value.empty()) return kilobytes_of(value);
  struct sysinfo memory {};
  sysinfo(&memory);
  return static_cast<std::int64_t>(memory.*counterpart) * memory.mem_unit;
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string widest_isa() {
  const std::string flags = " " + value_in("/proc/cpuinfo", "flags", ':') + " ";
  for (const char* isa : {"avx512_bf16", "avx512f", "avx2", "avx", "sse2"}) {
    if (flags.find(" " + std::string(isa) + " ") != std::string::npos) return isa;
  }
  return "unknown";
}

std::int64_t last_level_cache_bytes() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(level);
    if (bytes > 0) return bytes;
  }
  return 0;
}

// "gfx950" of 90500, "gfx90a" of 90010: two decimal digits for each of major, minor and stepping; the last is a
// hexadecimal digit of the name.
std::string gfx_name(const std::string& version) {
  const long number = std::strtol(version.c_str(), nullptr, 10);
  return fmt::format("gfx{}{}{:x}", number / 10000, number / 100 % 100, number % 100);
}

// From the drivers' files: asking a GPU runtime would start it in this process, and its children could not use it then.
std::string first_gpu() {
  std::error_code none;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    return value_in((gpu.path() / "information").c_str(), "Model", ':');
  }
  for (const auto& node : std::filesystem::directory_iterator("/sys/class/kfd/kfd/topology/nodes", none)) {
    const std::string version = value_in((node.path() / "properties").c_str(), "gfx_target_version", ' ');
    if (!version.empty() && version != "0") return gfx_name(version);
  }
  return "";
}

std::map<std::string, std::string> library_versions() {
  return {
      {"eigen", fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"nlohmann_json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
  };
}

}  // namespace

Environment read_environment() {
  Environment environment;
  utsname names{};
  uname(&names);
  environment.host = names.nodename;
  environment.kernel = names.release;
  environment.os = value_in("/etc/os-release", "PRETTY_NAME", '=');
  environment.cpu.model = value_in("/proc/cpuinfo", "model name", ':');
  environment.cpu.cores = usable_cores();
  environment.cpu.llc_bytes = last_level_cache_bytes();
  environment.cpu.isa = widest_isa();
  environment.memory_bytes = memory_bytes("/proc/meminfo", "MemTotal", &sysinfo::totalram);
  environment.gpu = first_gpu();
  environment.libraries = library_versions();
  return environment;
}

std::string fingerprint(const Environment& environment) {
  const BuildInfo build = build_info();
  std::string fields =
      fmt::format("{}|{}|{}|{}|{}|{}|{}", environment.cpu.model, environment.cpu.cores, environment.cpu.llc_bytes,
                  environment.cpu.isa, build.compiler, build.type, build.flags);
  if (!environment.gpu.empty()) fields += "|" + environment.gpu;
  // FNV-1a: a name for a set of fields, not a defence against anybody.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : fields) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::int64_t available_memory_bytes(const std::filesystem::path& meminfo) {
  return memory_bytes(meminfo, "MemAvailable", &sysinfo::freeram);
}

}  // namespace mla::harness
