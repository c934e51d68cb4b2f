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

}  // namespace mla::harness
