#include "harness/providers/hip/provider.hpp"

namespace mla::harness {

void add_hip_providers(ProviderList&) {}

std::vector<Ceiling> hip_ceilings() {
  return {};
}

std::string_view hip_absence() {
  return "no GPU target in this build (presets: cuda, rocm)";
}

std::string hip_device() {
  return "";
}

}  // namespace mla::harness
