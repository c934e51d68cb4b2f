#include "harness/providers/peers/flashinfer/execution.hpp"
#include "harness/providers/peers/peer_provider.hpp"
#include "harness/providers/plug_in.hpp"

namespace {

void add_providers(mla::harness::ProviderList& providers) {
  mla::harness::peers::add_peer<mla::harness::flashinfer::Execution>(
      providers, "flashinfer", "FlashInfer's MLA decode on Hopper (fa3), planned on the host");
}

}  // namespace

extern "C" const mla::harness::PlugIn mla_plug_in;
const mla::harness::PlugIn mla_plug_in = {mla::harness::kPlugInInterface, mla::harness::kPlugInCompiler, add_providers};
