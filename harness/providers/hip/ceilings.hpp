// What a GPU can do at most, measured with launches of the kernels' own library.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/core/ceiling.hpp"

namespace mla::harness::hip {

struct CeilingRun {
  double seconds = 0.15;                      // spent on each
  std::size_t bytes = std::size_t{4} << 30U;  // of memory read: far beyond any last-level cache
  int steps = 2000;                           // of the matrix products of a launch
  int units = 0;                              // compute units; 0: the current device's
};

/// Of the current device, best pass each: memory read (own kernel), memory copied (the runtime's, bytes read and
/// written counted), matrix products of bf16 and fp8 by the kernels' own instructions, and what an empty launch takes,
/// one by one and in a graph. Throws EnvironmentError where there is no device.
[[nodiscard]] std::vector<Ceiling> measure_ceilings(const CeilingRun& run = {});

}  // namespace mla::harness::hip
