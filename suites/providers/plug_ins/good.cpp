// A module that is used: one provider that runs nothing.
#include "harness/providers/plug_in.hpp"

namespace {

class NothingProvider final : public mla::harness::Provider {
 public:
  [[nodiscard]] std::string_view name() const override { return "nothing"; }
  [[nodiscard]] std::string_view description() const override { return "from a module"; }
};

void add_providers(mla::harness::ProviderList& providers) {
  providers.push_back(std::make_unique<NothingProvider>());
}

}  // namespace

extern "C" const mla::harness::PlugIn mla_plug_in;
const mla::harness::PlugIn mla_plug_in = {mla::harness::kPlugInInterface, mla::harness::kPlugInCompiler, add_providers};
