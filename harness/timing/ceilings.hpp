// What this machine can do at most, measured in the same run as the kernels that are compared with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/core/ceiling.hpp"

namespace mla::harness {

struct CeilingConfig {
  double seconds = 0.5;  // spent on each
  int threads = 0;       // 0: all cores that the process may run on
  /// Measures the bf16 matrix multiplication rate in GFLOP/s within the seconds given; empty or a result that is not
  /// positive means that nothing on this machine can.
  std::function<double(double)> bf16_matmul;
  std::string bf16_device = "cpu";
};

/// Best rate at which all cores together read a buffer of four times the last-level caches (at least 256 MiB, at most a
/// quarter of the machine's memory), each its own part, which it also placed in memory.
[[nodiscard]] Ceiling memory_read_ceiling(const CeilingConfig& config = {});

/// Best float32 rate of fused multiply-adds on registers alone, on all cores: nothing that uses float32 vector
/// arithmetic can exceed it.
[[nodiscard]] Ceiling f32_fma_ceiling(const CeilingConfig& config = {});

/// Best float32 matrix multiplication rate (Eigen), one 768 x 768 product a core.
[[nodiscard]] Ceiling f32_matmul_ceiling(const CeilingConfig& config = {});

/// Result of `config.bf16_matmul`, absent below `least_plausible` GFLOP/s: a library without a fast path for this
/// processor says nothing about the processor.
[[nodiscard]] Ceiling bf16_matmul_ceiling(const CeilingConfig& config = {}, double least_plausible = 0);

/// Least time in nanoseconds in which a team of all cores takes up an empty task and reports back: what a launch on a
/// CPU costs before it has done anything.
[[nodiscard]] Ceiling launch_pool_floor(const CeilingConfig& config = {});

/// All of the above; on a CPU, a bf16 rate below a quarter of the float32 rate is not plausible.
[[nodiscard]] std::vector<Ceiling> measure_ceilings(const CeilingConfig& config = {});

}  // namespace mla::harness
