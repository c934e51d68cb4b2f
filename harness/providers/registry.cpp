#include "harness/providers/registry.hpp"

#include "harness/providers/eigen/provider.hpp"
#include "harness/providers/torch/provider.hpp"

namespace mla::harness {

ProviderList builtin_providers() {
  ProviderList providers;
  providers.push_back(make_eigen_provider());
  if (auto torch = make_torch_provider()) providers.push_back(std::move(torch));
  return providers;
}

std::vector<AbsentProvider> absent_providers() {
  if (torch_absence().empty()) return {};
  return {{"torch", std::string(torch_absence())}};
}

std::function<double(double)> bf16_matmul_probe() {
  if (!torch_absence().empty()) return {};
  return torch_bf16_matmul_gflops;
}

}  // namespace mla::harness
