#include "harness/providers/peers/peer_provider.hpp"
#include "harness/providers/peers/vllm_flashmla/execution.hpp"
#include "harness/providers/plug_in.hpp"

namespace {

void add_providers(mla::harness::ProviderList& providers) {
  mla::harness::peers::add_peer<mla::harness::vllm_flashmla::Execution>(providers, "vllm-flashmla",
                                                                        "the fp8 decode on Hopper in vLLM's FlashMLA");
}

}  // namespace

extern "C" const mla::harness::PlugIn mla_plug_in;
const mla::harness::PlugIn mla_plug_in = {mla::harness::kPlugInInterface, mla::harness::kPlugInCompiler, add_providers};
