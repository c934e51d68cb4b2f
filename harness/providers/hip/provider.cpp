#include "harness/providers/hip/provider.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "harness/providers/hip/ceilings.hpp"
#include "harness/providers/hip/execution.hpp"
#include "harness/providers/hip/gpu.hpp"

namespace mla::harness {

namespace {

#if defined(MLA_TARGET_SM90)
constexpr bool kForAmd = false;
#else
constexpr bool kForAmd = true;
#endif

/// Why the first GPU, of architecture `amd` if it is one of AMD's, cannot run this build's kernels; "" where it can.
std::string unusable(const std::string& amd) {
  if (!kForAmd) return hip::device_file_exists() ? "" : "no GPU device file on this machine";
  if (amd.empty()) return "hipErrorNoDevice: AMD's driver lists no GPU on this machine";
  if (amd != "gfx942" && amd != "gfx950") return amd + ": this build has kernels for gfx942 and gfx950";
  return "";
}

class HipProvider final : public Provider {
 public:
  HipProvider(std::string name, std::string description, hip::Launch launch, hip::Planning planning)
      : name_(std::move(name)),
        description_(std::move(description)),
        launch_(launch),
        planning_(planning),
        amd_arch_(kForAmd ? hip::amd_arch() : "") {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view description() const override { return description_; }
  [[nodiscard]] std::string_view device() const override { return "gpu"; }
  // The same kernels as `hip`, for a second measurement: run where it is named.
  [[nodiscard]] bool runs_by_default() const override { return planning_ == hip::Planning::outside; }
  [[nodiscard]] std::unique_ptr<Provider> eager() const override {
    if (launch_ == hip::Launch::eager) return nullptr;
    return std::make_unique<HipProvider>("hip", std::string(), hip::Launch::eager, planning_);
  }
  [[nodiscard]] DataType native_fp8() const override {
    return amd_arch_ == "gfx942" ? DataType::e4m3fnuz : DataType::e4m3fn;
  }

  [[nodiscard]] Support supports(const DecodeProblem& problem) const override {
    if (std::string why = unusable(amd_arch_); !why.empty()) return {SkipReason::no_device, std::move(why)};
    const DataType kv = resolve(problem.fields().kv_type, native_fp8());
    if (is_fp8(kv) && kv != native_fp8()) {
      return {SkipReason::unsupported_dtype, std::string(name_of(kv)) + " is not this target's fp8 encoding"};
    }
    return {};
  }

  [[nodiscard]] std::unique_ptr<DecodeExecution> prepare(const DecodeCase& problem_case) const override {
    return std::make_unique<hip::Execution>(problem_case, launch_, planning_);
  }

 private:
  std::string name_;
  std::string description_;
  hip::Launch launch_;
  hip::Planning planning_;
  std::string amd_arch_;
};

}  // namespace

void add_hip_providers(ProviderList& providers) {
  const auto add = [&providers](const char* name, const char* description, hip::Launch launch, hip::Planning planning) {
    providers.push_back(std::make_unique<HipProvider>(name, description, launch, planning));
  };
  add("hip", "split-KV kernels, launched one by one; planning is not in the time", hip::Launch::eager,
      hip::Planning::outside);
  add("hip-graph", "split-KV kernels, plan + decode + merge captured once and replayed; planning is not in the time",
      hip::Launch::graph, hip::Planning::outside);
  add("hip-plan", "as hip, with planning in the time", hip::Launch::eager, hip::Planning::inside);
}

std::vector<Ceiling> hip_ceilings() {
  if (!hip::device_file_exists()) return {};
  try {
    return hip::measure_ceilings();
  } catch (const EnvironmentError& error) {
    return {{"memory_read", "gpu", std::nullopt, "GB/s", error.what()}};
  }
}

std::string_view hip_absence() {
  return "";
}

std::string hip_device() {
  int count = 0;
  hipDeviceProp_t properties;
  hipError_t error = hipGetDeviceCount(&count);
  if (error == hipSuccess) error = count > 0 ? hipGetDeviceProperties(&properties, 0) : hipErrorNoDevice;
  if (error != hipSuccess) return fmt::format("{}: {}", hipGetErrorName(error), hipGetErrorString(error));
#if defined(MLA_TARGET_SM90)
  return fmt::format("{} (sm{}{})", properties.name, properties.major, properties.minor);
#else
  return fmt::format("{} ({})", properties.name, properties.gcnArchName);
#endif
}

}  // namespace mla::harness
