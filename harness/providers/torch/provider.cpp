#include "harness/providers/torch/provider.hpp"

#include <dlfcn.h>

#include <string>

#include "harness/core/error.hpp"
#include "harness/core/program.hpp"
#include "harness/providers/torch/module.hpp"
#include "harness/providers/worker_pool.hpp"

namespace mla::harness {

namespace {

using libtorch::Module;

// Whether the libtorch found at configure time was built for GPUs: if not, there is no need to load it to know.
constexpr bool kBuiltForGpu = MLA_TORCH_BUILT_FOR_GPU;

struct Loaded {
  const Module* module = nullptr;
  std::string error;
};

Loaded load() {
  const auto path = program_file().parent_path() / libtorch::kModuleFile;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const void* symbol = handle != nullptr ? dlsym(handle, libtorch::kModuleSymbol) : nullptr;
  if (symbol == nullptr) return {nullptr, std::string("libtorch cannot be loaded: ") + dlerror()};
  return {static_cast<const Module*>(symbol), {}};
}

// Opened once a process and never closed: libtorch's threads do not survive being unloaded.
const Loaded& loaded() {
  static const Loaded result = load();
  return result;
}

const Module& module() {
  if (loaded().module == nullptr) throw EnvironmentError(loaded().error);
  return *loaded().module;
}

class TorchProvider final : public Provider {
 public:
  [[nodiscard]] std::string_view name() const override { return "torch"; }
  [[nodiscard]] std::string_view description() const override {
    return "libtorch matmul and softmax in float32 on the gathered KV of each request";
  }
  [[nodiscard]] std::string_view device() const override {
    return kBuiltForGpu && loaded().module != nullptr && module().has_gpu() ? "gpu" : "cpu";
  }
  // Asked in the process that then forks one child a case: these inherit the module loaded here.
  [[nodiscard]] Support supports(const DecodeProblem&) const override {
    if (loaded().module == nullptr) return {SkipReason::no_device, loaded().error};
    return {};
  }
  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& c) const override {
    return module().prepare(c, c.layout.bind(c.inputs), c.layout.bind(c.outputs), available_cores());
  }
};

}  // namespace

std::unique_ptr<Provider> make_torch_provider() {
  return std::make_unique<TorchProvider>();
}

std::string_view torch_absence() {
  return {};
}

double torch_bf16_matmul_gflops(double seconds) {
  return loaded().module == nullptr ? 0 : module().bf16_matmul_gflops(seconds, available_cores());
}

}  // namespace mla::harness
