// One launch of FlashInfer's kernel for a type of cache and a mask; an instantiation a source file.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <flashinfer/attention/mla_hopper.cuh>
#include <flashinfer/attention/mla_params.cuh>
#include <flashinfer/attention/scheduler.cuh>

#include "harness/providers/peers/flashinfer/launch.hpp"

namespace mla::harness::flashinfer {

inline constexpr int kHeadDim = 576;
inline constexpr int kLatentDim = 512;
inline constexpr int kRopeDim = kHeadDim - kLatentDim;

template <class Cache>
using Params = ::flashinfer::MLAParams<__nv_bfloat16, Cache, __nv_bfloat16, std::int32_t>;

template <class T>
T* at_offset(void* base, std::int64_t bytes) {
  return ::flashinfer::GetPtrFromBaseOffset<T>(base, bytes);
}

template <class Cache>
void set_schedule(Params<Cache>& params, const ::flashinfer::MLAPlanInfo& info, const Workspace& workspace) {
  const auto ints = [&workspace](std::int64_t offset) { return at_offset<std::int32_t>(workspace.ints, offset); };
  params.q_indptr = ints(info.q_indptr_offset);
  params.kv_indptr = ints(info.kv_indptr_offset);
  params.partial_indptr = ints(info.partial_indptr_offset);
  params.q_len = ints(info.q_len_offset);
  params.kv_len = ints(info.kv_len_offset);
  params.q_start = ints(info.q_start_offset);
  params.kv_start = ints(info.kv_start_offset);
  params.kv_end = ints(info.kv_end_offset);
  params.work_indptr = ints(info.work_indptr_offset);
  params.merge_packed_offset_start = ints(info.merge_packed_offset_start_offset);
  params.merge_packed_offset_end = ints(info.merge_packed_offset_end_offset);
  params.merge_partial_packed_offset_start = ints(info.merge_partial_packed_offset_start_offset);
  params.merge_partial_packed_offset_end = ints(info.merge_partial_packed_offset_end_offset);
  params.merge_partial_stride = ints(info.merge_partial_stride_offset);
  params.partial_o = at_offset<__nv_bfloat16>(workspace.floats, info.partial_o_offset);
  params.partial_lse = at_offset<float>(workspace.floats, info.partial_lse_offset);
}

// It takes the latent and the rope part as two tensors; here both are slices of one, as an engine's cache has them.
template <class Cache>
void set_tensors(Params<Cache>& params, const Tensors& tensors) {
  params.q_nope = static_cast<__nv_bfloat16*>(const_cast<void*>(tensors.q));
  params.q_pe = params.q_nope + kLatentDim;
  params.ckv = static_cast<Cache*>(const_cast<void*>(tensors.kv));
  params.kpe = params.ckv + kLatentDim;
  params.kv_indices = const_cast<std::int32_t*>(tensors.kv_indices);
  params.final_o = static_cast<__nv_bfloat16*>(tensors.out);
  params.final_lse = tensors.lse;
  params.num_heads = ::flashinfer::uint_fastdiv(static_cast<std::uint32_t>(tensors.heads));
  params.block_size = ::flashinfer::uint_fastdiv(static_cast<std::uint32_t>(tensors.page_size));
  params.q_nope_stride_n = params.q_pe_stride_n = static_cast<std::uint32_t>(tensors.q_token_stride);
  params.q_nope_stride_h = params.q_pe_stride_h = static_cast<std::uint32_t>(tensors.q_head_stride);
  params.ckv_stride_page = params.kpe_stride_page = static_cast<std::uint32_t>(tensors.kv_page_stride);
  params.ckv_stride_n = params.kpe_stride_n = static_cast<std::uint32_t>(tensors.kv_token_stride);
  params.o_stride_n = static_cast<std::uint32_t>(tensors.out_token_stride);
  params.o_stride_h = static_cast<std::uint32_t>(tensors.out_head_stride);
  params.sm_scale = tensors.sm_scale;
  params.ckv_scale = tensors.kv_scale;
  params.kpe_scale = tensors.kv_scale;
  params.ckv_scale_arr = nullptr;
  params.return_lse_base_on_e = true;
}

template <class Cache, bool causal>
cudaError_t launch_one(const Tensors& tensors, const Plan& plan, const Workspace& workspace, cudaStream_t stream) {
  constexpr auto mask = causal ? ::flashinfer::MaskMode::kCausal : ::flashinfer::MaskMode::kNone;
  ::flashinfer::MLAPlanInfo info;
  info.FromVector(plan);
  Params<Cache> params{};
  set_schedule(params, info, workspace);
  set_tensors(params, tensors);
  return ::flashinfer::mla::BatchMLAPageAttentionHopper<mask, kLatentDim, kRopeDim>(
      params, static_cast<std::uint32_t>(info.num_blks_x), static_cast<std::uint32_t>(info.num_blks_y), stream);
}

extern template cudaError_t launch_one<__nv_bfloat16, false>(const Tensors&, const Plan&, const Workspace&,
                                                             cudaStream_t);
extern template cudaError_t launch_one<__nv_bfloat16, true>(const Tensors&, const Plan&, const Workspace&,
                                                            cudaStream_t);
extern template cudaError_t launch_one<__nv_fp8_e4m3, false>(const Tensors&, const Plan&, const Workspace&,
                                                             cudaStream_t);
extern template cudaError_t launch_one<__nv_fp8_e4m3, true>(const Tensors&, const Plan&, const Workspace&,
                                                            cudaStream_t);

}  // namespace mla::harness::flashinfer
