// Matrix products back to back on Hopper: m64n256 warpgroup products, the largest there are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/wgmma.hpp"
#include "kernels/ceilings/multiply_kernel.hpp"

namespace mla::sm90 {

/// One warpgroup a half of the workgroup; what the products mean does not matter, only that operands are where a real
/// kernel has them: P in registers, KV in shared memory.
template <DataType kType>
struct MultiplyRate {
  using Arguments = ceilings::MultiplyArguments;
  static constexpr int kThreads = 256;
  static constexpr int kOperandBytes = 32 << 10;
  static constexpr int kAlignment = 1024;
  static constexpr int kSharedBytes = kOperandBytes + kAlignment;
  static constexpr int kProducts = 16;  // a step
  static constexpr int kDepth = kType == DataType::bf16 ? 16 : 32;
  static constexpr double kFlops = 2.0 * 64 * 256 * kDepth * kProducts * (kThreads / 128);

  static MLA_DEVICE void run(const Arguments& arguments) {
    const std::uint32_t base = shared_address(Arch::shared_memory());
    const std::uint32_t padding = (kAlignment - base % kAlignment) % kAlignment;
    auto* words = reinterpret_cast<std::uint32_t*>(Arch::shared_memory() + padding);
    for (int i = Arch::thread(); i < kOperandBytes / 4; i += kThreads) {
      words[i] = ceilings::random_elements<kType>(static_cast<std::uint32_t>(i));
    }
    fence_async_proxy();
    Arch::barrier_all();
    std::uint32_t left[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      left[i] = ceilings::random_elements<kType>(static_cast<std::uint32_t>(Arch::thread() * 4 + i));
    }
    float sums[128] = {};
    for (int step = 0; step < arguments.steps; ++step) {
      wgmma_fence();
#pragma unroll
      for (int product = 0; product < kProducts; ++product) multiply(sums, left, base + padding, product);
      wgmma_commit();
      wgmma_wait<0>();
    }
    float total = 0;
#pragma unroll
    for (const float sum : sums) total += sum;
    if (total == 1.2345F) *arguments.sink = 1;  // the products' only use
  }

 private:
  static MLA_DEVICE void multiply(float (&sums)[128], const std::uint32_t (&left)[4], std::uint32_t shared,
                                  int product) {
    if constexpr (kType == DataType::bf16) {
      // 64 tokens of 256 columns: four products along the tokens.
      wgmma_output(sums, left, columns_descriptor(shared + product % 4 * 2048, 8192));
    } else {
      wgmma_e4m3(sums, left, rows_descriptor(shared + product % 4 * 32));
    }
  }
};

}  // namespace mla::sm90

namespace mla::ceilings {

template <>
struct MultiplyKernel<sm90::Arch, DataType::bf16> : sm90::MultiplyRate<DataType::bf16> {};
template <>
struct MultiplyKernel<sm90::Arch, DataType::e4m3fn> : sm90::MultiplyRate<DataType::e4m3fn> {};

}  // namespace mla::ceilings
