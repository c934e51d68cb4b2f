#include "harness/providers/hip/provider.hpp"

#include <filesystem>
#include <string>

#include "harness/providers/hip/execution.hpp"

namespace mla::harness {

namespace {

// Asking the runtime would start it, and a runtime started before a fork does not work in the child.
bool device_file_exists() {
  return std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/kfd");
}

class HipProvider final : public Provider {
 public:
  HipProvider(std::string name, hip::Launch launch) : name_(std::move(name)), launch_(launch) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view description() const override {
    return launch_ == hip::Launch::graph ? "split-KV kernels, plan + decode + merge captured once and replayed"
                                         : "split-KV kernels, launched one by one";
  }
  [[nodiscard]] std::string_view device() const override { return "gpu"; }
  [[nodiscard]] DataType native_fp8() const override { return DataType::e4m3fn; }

  [[nodiscard]] Support supports(const DecodeProblem& problem) const override {
    if (!device_file_exists()) return {SkipReason::no_device, "no GPU device file on this machine"};
    const DataType kv = resolve(problem.fields().kv_type, native_fp8());
    if (is_fp8(kv) && kv != native_fp8()) {
      return {SkipReason::unsupported_dtype, std::string(name_of(kv)) + " is not this target's fp8 encoding"};
    }
    return {};
  }

  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& problem_case) const override {
    return std::make_unique<hip::Execution>(problem_case, launch_);
  }

 private:
  std::string name_;
  hip::Launch launch_;
};

}  // namespace

void add_hip_providers(ProviderList& providers) {
  providers.push_back(std::make_unique<HipProvider>("hip", hip::Launch::eager));
  providers.push_back(std::make_unique<HipProvider>("hip-graph", hip::Launch::graph));
}

std::string_view hip_absence() {
  return "";
}

}  // namespace mla::harness
