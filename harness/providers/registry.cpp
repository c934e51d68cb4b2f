#include "harness/providers/registry.hpp"

#include "harness/providers/eigen/provider.hpp"
#include "harness/providers/hip/provider.hpp"
#include "harness/providers/host/provider.hpp"
#include "harness/providers/torch/provider.hpp"

namespace mla::harness {

ProviderList builtin_providers() {
  ProviderList providers;
  providers.push_back(make_eigen_provider());
  if (auto torch = make_torch_provider()) providers.push_back(std::move(torch));
  add_hip_providers(providers);
  providers.push_back(make_host_provider());
  return providers;
}

std::vector<AbsentProvider> absent_providers() {
  std::vector<AbsentProvider> absent;
  const auto note = [&absent](const char* name, std::string_view reason) {
    if (!reason.empty()) absent.push_back({name, std::string(reason)});
  };
  note("torch", torch_absence());
  note("hip", hip_absence());
  return absent;
}

std::function<double(double)> bf16_matmul_probe() {
  if (!torch_absence().empty()) return {};
  return torch_bf16_matmul_gflops;
}

}  // namespace mla::harness
