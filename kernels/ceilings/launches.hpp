// Launches that do one thing as fast as a target can, to measure what the decode kernels are compared with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/runtime.hpp"
#include "mla/dtype.hpp"

namespace mla::ceilings {

struct Launches {
  /// Reads `bytes` (a multiple of 16) of device memory once, by `workgroups` workgroups. `sink` is 4 bytes of device
  /// memory, not written in fact.
  hipError_t (*read)(const void* data, std::size_t bytes, int workgroups, std::uint32_t* sink, hipStream_t stream);
  /// One workgroup that does nothing.
  hipError_t (*empty)(hipStream_t stream);
  /// `steps` times some matrix products of operands that need not be loaded, of one type: bf16, or the target's fp8.
  hipError_t (*multiply)(DataType type, int steps, int workgroups, std::uint32_t* sink, hipStream_t stream);
  /// Operations of one workgroup in a step of `multiply`, a multiplication and an addition counted as two.
  double (*multiply_flops)(DataType type);
  /// Needed once before the first launch, outside of any capture.
  hipError_t (*prepare)();
};

/// Implemented by the library of each target, like mla/api.hpp.
[[nodiscard]] const Launches& launches();

}  // namespace mla::ceilings
