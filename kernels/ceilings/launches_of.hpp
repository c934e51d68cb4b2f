// The table of a target: its source file instantiates it.
#pragma once

#include "kernels/ceilings/launches.hpp"
#include "kernels/ceilings/multiply_kernel.hpp"
#include "kernels/ceilings/read_kernel.hpp"
#include "kernels/runtime/launch.hpp"

namespace mla::ceilings {

struct EmptyArguments {};

template <class Arch>
struct EmptyKernel {
  using Arguments = EmptyArguments;
  static constexpr int kThreads = Arch::kWaveWidth;
  static constexpr int kSharedBytes = 0;
  static MLA_DEVICE void run(const Arguments& /*arguments*/) {}
};

template <class Arch>
struct LaunchesOf {
  using MultiplyBf16 = MultiplyKernel<Arch, DataType::bf16>;
  using MultiplyFp8 = MultiplyKernel<Arch, Arch::kFp8>;

  static hipError_t read(const void* data, std::size_t bytes, int workgroups, std::uint32_t* sink, hipStream_t stream) {
    using Kernel = ReadKernel<Arch>;
    const ReadArguments arguments{static_cast<const Unit*>(data), static_cast<std::int64_t>(bytes / sizeof(Unit)),
                                  std::int64_t{workgroups} * Kernel::kThreads, sink};
    return runtime::launch<Kernel>(workgroups, arguments, stream);
  }
  static hipError_t empty(hipStream_t stream) {
    return runtime::launch<EmptyKernel<Arch>>(1, EmptyArguments{}, stream);
  }
  static hipError_t multiply(DataType type, int steps, int workgroups, std::uint32_t* sink, hipStream_t stream) {
    const MultiplyArguments arguments{steps, sink};
    return type == DataType::bf16 ? runtime::launch<MultiplyBf16>(workgroups, arguments, stream)
                                  : runtime::launch<MultiplyFp8>(workgroups, arguments, stream);
  }
  static double multiply_flops(DataType type) {
    return type == DataType::bf16 ? MultiplyBf16::kFlops : MultiplyFp8::kFlops;
  }
  static hipError_t prepare() {
    const hipError_t error = runtime::prepare<MultiplyBf16>();
    return error == hipSuccess ? runtime::prepare<MultiplyFp8>() : error;
  }
};

template <class Arch>
Launches launches_of() {
  using Of = LaunchesOf<Arch>;
  return {&Of::read, &Of::empty, &Of::multiply, &Of::multiply_flops, &Of::prepare};
}

}  // namespace mla::ceilings
