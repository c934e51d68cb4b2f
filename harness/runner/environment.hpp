// The machine a run happens on, and what of it must agree for two runs' times to be comparable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace mla::harness {

struct CpuInfo {
  std::string model;
  int cores = 0;               // processors this process may use
  std::int64_t llc_bytes = 0;  // last-level cache, 0 where unknown
  std::string isa;             // widest vector extension: "avx512", "avx2", "neon", ...
};

struct Environment {
  std::string host;
  std::string os;
  std::string kernel;
  CpuInfo cpu;
  std::int64_t memory_bytes = 0;
  std::string gpu;                               // name of the first GPU that a driver shows, "" where there is none
  std::map<std::string, std::string> libraries;  // name -> version, of what this build uses
};

[[nodiscard]] Environment read_environment();

/// 16 hex digits over what bears on speed: processor, cores, GPU, compiler, build type and flags.
[[nodiscard]] std::string fingerprint(const Environment& environment);

/// Bytes of memory that could be taken now without swapping. Where `meminfo` cannot be read (a container or chroot
/// without /proc), the free memory that the kernel names, which leaves out what it would drop of its file cache.
[[nodiscard]] std::int64_t available_memory_bytes(const std::filesystem::path& meminfo = "/proc/meminfo");

}  // namespace mla::harness
