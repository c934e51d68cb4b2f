#include "harness/providers/registry.hpp"

#include <algorithm>

#include "harness/providers/eigen/provider.hpp"
#include "harness/providers/hip/provider.hpp"
#include "harness/providers/host/provider.hpp"
#include "harness/providers/plug_in.hpp"
#include "harness/providers/torch/provider.hpp"

namespace mla::harness {

ProviderList builtin_providers() {
  ProviderList providers;
  providers.push_back(make_eigen_provider());
  if (auto torch = make_torch_provider()) providers.push_back(std::move(torch));
  add_hip_providers(providers);
  providers.push_back(make_host_provider());
  for (auto& provider : load_plug_ins(plug_in_places()).providers) {
    // The first of a name stays: a copy of a module in a second folder is no second implementation.
    const auto has_its_name = [&provider](const auto& other) { return other->name() == provider->name(); };
    if (std::none_of(providers.begin(), providers.end(), has_its_name)) providers.push_back(std::move(provider));
  }
  return providers;
}

std::vector<AbsentProvider> absent_providers() {
  std::vector<AbsentProvider> absent;
  const auto note = [&absent](const std::string& name, std::string_view reason) {
    if (!reason.empty()) absent.push_back({name, std::string(reason)});
  };
  note("torch", torch_absence());
  note("hip", hip_absence());
  for (const RefusedPlugIn& plug_in : load_plug_ins(plug_in_places()).refused) note(plug_in.name, plug_in.reason);
  return absent;
}

std::string gpu_device() {
  return hip_device();
}

std::function<double(double)> bf16_matmul_probe() {
  if (!torch_absence().empty()) return {};
  return torch_bf16_matmul_gflops;
}

std::vector<Ceiling> device_ceilings() {
  return hip_ceilings();
}

}  // namespace mla::harness
