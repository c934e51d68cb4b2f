// A rate that a device was measured to reach.
#pragma once

#include <optional>
#include <string>

namespace mla::harness {

struct Ceiling {
  std::string name;             // "memory_read", "memory_copy", "fma_f32", "matmul_f32", "matmul_bf16", "matmul_fp8"
  std::string device;           // "cpu" or "gpu"
  std::optional<double> value;  // absent where it could not be measured; `note` says why
  std::string
      unit;  // "GB/s" (10^9 bytes), "GFLOP/s"; "ns" for the floors "launch_pool", "launch_eager", "launch_graph"
  std::string note;
};

}  // namespace mla::harness
