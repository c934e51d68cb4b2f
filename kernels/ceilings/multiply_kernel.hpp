// Matrix products back to back: the rate that the kernels' own instructions reach when nothing has to be loaded.
#pragma once

#include <cstdint>

#include "kernels/runtime/target.hpp"
#include "mla/dtype.hpp"

namespace mla::ceilings {

struct MultiplyArguments {
  int steps;
  std::uint32_t* sink;
};

/// Four elements of about one, of either sign: a multiplier that gets zeros draws less power, and clocks higher, than
/// in any real product.
template <DataType kType>
MLA_DEVICE std::uint32_t random_elements(std::uint32_t seed) {
  std::uint32_t bits = seed * 0x9e3779b1U;
  bits ^= bits >> 15;
  bits *= 0x85ebca77U;
  bits ^= bits >> 13;
  return kType == DataType::bf16 ? (bits & 0x807f807fU) | 0x3f003f00U : (bits & 0x87878787U) | 0x30303030U;
}

/// By the arch's P.V product, from registers. A target with a faster instruction specialises this.
template <class Arch, DataType kType>
struct MultiplyKernel {
  using Arguments = MultiplyArguments;
  using Matrix = typename Arch::template Matrix<kType, kType>;
  static constexpr int kThreads = Arch::kThreads;
  static constexpr int kSharedBytes = 0;
  /// Accumulators that do not wait for each other: enough to cover the latency of a product.
  static constexpr int kChains = 8;
  static constexpr double kFlops = 2.0 * 16 * Matrix::kValueDepth * Matrix::kOutputColumns * kChains * Arch::kWaves;

  static MLA_DEVICE void run(const Arguments& arguments) {
    typename Matrix::Probabilities left;
    typename Matrix::Values right;
    fill(left, 1);
    fill(right, 2);
    typename Matrix::Output sums[kChains];
    for (int step = 0; step < arguments.steps; ++step) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) Matrix::multiply(sums[c], left, right);
    }
    float total = 0;
#pragma unroll
    for (int c = 0; c < kChains; ++c) total += Matrix::output(sums[c], 0, 0);
    if (total == 1.2345F) *arguments.sink = 1;  // the products' only use
  }

 private:
  template <class Fragment>
  static MLA_DEVICE void fill(Fragment& fragment, std::uint32_t salt) {
    struct Words {
      std::uint32_t v[sizeof(Fragment) / 4];
    } words;
#pragma unroll
    for (std::uint32_t i = 0; i < sizeof(Fragment) / 4; ++i) {
      words.v[i] = random_elements<kType>(static_cast<std::uint32_t>(Arch::thread()) * 64 + i * 4 + salt);
    }
    fragment = __builtin_bit_cast(Fragment, words);
  }
};

}  // namespace mla::ceilings
