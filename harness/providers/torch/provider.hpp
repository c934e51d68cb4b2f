// Provider "torch": what a framework user would write with libtorch. Only decode.cpp includes libtorch's headers.
#pragma once

#include <memory>
#include <string_view>

#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Matmul and softmax on the gathered KV of one request after the other, on the GPU if libtorch has one, else on all
/// cores. Null where this build has no libtorch.
[[nodiscard]] std::unique_ptr<Provider> make_torch_provider();

/// Why this build has no libtorch; empty where it has.
[[nodiscard]] std::string_view torch_absence();

/// Best bf16 matrix multiplication rate in GFLOP/s over about `seconds`, on the provider's device; 0 where this build
/// has no libtorch or cannot load it. Square matrices of up to 2048 rows on a CPU, 8192 on a GPU.
[[nodiscard]] double torch_bf16_matmul_gflops(double seconds);

}  // namespace mla::harness
