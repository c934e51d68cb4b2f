#include "harness/providers/peers/flashinfer/decode.cuh"

namespace mla::harness::flashinfer {

Plan plan(const HostBatch& batch, const Workspace& workspace, cudaStream_t stream) {
  // Its planner takes addresses of what it only reads.
  HostBatch& read = const_cast<HostBatch&>(batch);
  ::flashinfer::MLAPlanInfo info;
  const cudaError_t error =
      ::flashinfer::MLAPlan<std::int32_t>(workspace.floats, kFloatWorkspaceBytes, workspace.ints, workspace.pinned_ints,
                                          kIntWorkspaceBytes, info, read.qo_indptr.data(), read.kv_indptr.data(),
                                          read.kv_lens.data(), static_cast<std::uint32_t>(batch.kv_lens.size()),
                                          static_cast<std::uint32_t>(batch.heads), kLatentDim, batch.causal, stream);
  if (error != cudaSuccess) throw std::runtime_error(std::string("FlashInfer's MLAPlan: ") + cudaGetErrorString(error));
  return info.ToVector();
}

cudaError_t launch_decode(const Tensors& tensors, const Plan& plan, const Workspace& workspace, cudaStream_t stream) {
  if (tensors.cache == CacheType::bf16) {
    return tensors.causal ? launch_one<__nv_bfloat16, true>(tensors, plan, workspace, stream)
                          : launch_one<__nv_bfloat16, false>(tensors, plan, workspace, stream);
  }
  return tensors.causal ? launch_one<__nv_fp8_e4m3, true>(tensors, plan, workspace, stream)
                        : launch_one<__nv_fp8_e4m3, false>(tensors, plan, workspace, stream);
}

}  // namespace mla::harness::flashinfer
