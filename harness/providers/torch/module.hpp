// The boundary between the provider and the module that holds libtorch. Loading libtorch takes about half a second, so
// the module is opened when a case first asks for it: listing, comparing and --help must not wait for it.
#pragma once

#include <memory>

#include "harness/providers/provider.hpp"
#include "mla/decode.hpp"

namespace mla::harness::libtorch {

/// What the module exports, under the name `mla_torch_module`.
struct Module {
  bool (*has_gpu)();
  /// `inputs` and `outputs` are the views that the case's layout gives of its buffers.
  std::unique_ptr<DecodeExecution> (*prepare)(const DecodeCase& c, const DecodeInputs& inputs,
                                              const DecodeOutputs& outputs, int threads);
  double (*bf16_matmul_gflops)(double seconds, int threads);
};

inline constexpr const char* kModuleFile = "mla_torch.so";  // beside the executable
inline constexpr const char* kModuleSymbol = "mla_torch_module";

}  // namespace mla::harness::libtorch
