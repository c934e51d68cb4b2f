#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "harness/providers/peers/flashmla/launch.hpp"
#include "params.h"
#include "sm90/decode/dense/splitkv_mla.h"
#include "smxx/decode/combine/combine.h"
#include "smxx/decode/get_decoding_sched_meta/get_decoding_sched_meta.h"

namespace mla::harness::flashmla {

namespace {

constexpr int kHeadDim = 576;
constexpr int kValueDim = 512;
constexpr int kRowsPerTile = 64;
constexpr int kTokensPerBlock = 64;
constexpr int kFixedCostInBlocks = 5;  // as its own interface plans

int multiprocessors() {
  int device = 0;
  int count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

int rows(const Batch& batch) {
  return batch.q_len * batch.heads;
}

// One KV head: all (query token, head) rows of a request read the same cache.
DenseAttnDecodeParams decode_params(const Batch& batch, const void* kv, const Scratch& scratch, int parts,
                                    cudaStream_t stream) {
  DenseAttnDecodeParams params{};
  params.b = batch.requests;
  params.s_q = batch.q_len;
  params.q_seq_per_hk = rows(batch);
  params.d = kHeadDim;
  params.d_v = kValueDim;
  params.h_q = batch.heads;
  params.h_k = 1;
  params.num_blocks = batch.pages;
  params.q_head_per_hk = batch.heads;
  params.is_causal = batch.causal && batch.q_len > 1;
  params.scale_softmax = batch.sm_scale;
  params.scale_softmax_log2 = static_cast<float>(static_cast<double>(batch.sm_scale) * M_LOG2E);
  params.q_ptr = const_cast<void*>(batch.q);
  params.k_ptr = const_cast<void*>(kv);
  params.o_ptr = batch.out;
  params.softmax_lse_ptr = batch.lse;
  params.q_row_stride = kHeadDim;
  params.q_head_stride = kHeadDim;
  params.q_batch_stride = std::int64_t{rows(batch)} * kHeadDim;
  params.k_batch_stride = batch.kv_page_stride;
  params.k_row_stride = batch.kv_token_stride;
  params.k_head_stride = kHeadDim;
  params.o_row_stride = kValueDim;
  params.o_head_stride = std::int64_t{rows(batch)} * kValueDim;
  params.o_batch_stride = std::int64_t{rows(batch)} * kValueDim;
  params.block_table = const_cast<int*>(batch.block_table);
  params.block_table_batch_stride = batch.pages_per_request;
  params.page_block_size = kPageSize;
  params.seqlens_k_ptr = const_cast<int*>(batch.kv_lens);
  params.tile_scheduler_metadata_ptr = static_cast<DecodingSchedMeta*>(scratch.schedule);
  params.num_sm_parts = parts;
  params.num_splits_ptr = scratch.splits;
  params.total_num_splits = batch.requests + parts;
  params.softmax_lseaccum_ptr = scratch.partial_lse;
  params.oaccum_ptr = scratch.partial_out;
  params.stream = stream;
  return params;
}

CombineParams combine_params(const Batch& batch, const Scratch& scratch, int parts, cudaStream_t stream) {
  CombineParams params{};
  params.b = batch.requests;
  params.s_q = batch.q_len;
  params.h_q = batch.heads;
  params.d_v = kValueDim;
  params.lse = batch.lse;
  params.out = batch.out;
  params.stride_lse_b = rows(batch);
  params.stride_lse_s_q = batch.heads;
  params.stride_o_b = rows(batch) * kValueDim;
  params.stride_o_s_q = batch.heads * kValueDim;
  params.stride_o_h_q = kValueDim;
  params.lse_accum = scratch.partial_lse;
  params.o_accum = scratch.partial_out;
  params.stride_lse_accum_split = rows(batch);
  params.stride_lse_accum_s_q = batch.heads;
  params.stride_o_accum_split = rows(batch) * kValueDim;
  params.stride_o_accum_s_q = batch.heads * kValueDim;
  params.stride_o_accum_h_q = kValueDim;
  params.tile_scheduler_metadata_ptr = static_cast<DecodingSchedMeta*>(scratch.schedule);
  params.num_splits_ptr = scratch.splits;
  params.num_sm_parts = parts;
  params.attn_sink = nullptr;
  params.stream = stream;
  return params;
}

}  // namespace

int parts(int q_len, int heads) {
  const int tiles = (q_len * heads + kRowsPerTile - 1) / kRowsPerTile;
  return std::max(multiprocessors() / tiles, 1);
}

ScratchBytes scratch_bytes(const Batch& batch, int parts) {
  const auto partial_rows = (static_cast<std::size_t>(batch.requests) + parts) * rows(batch);
  return {.schedule = sizeof(DecodingSchedMeta) * parts,
          .splits = sizeof(int) * (static_cast<std::size_t>(batch.requests) + 1),
          .partial_out = sizeof(float) * partial_rows * kValueDim,
          .partial_lse = sizeof(float) * partial_rows};
}

void launch_plan(const Batch& batch, const Scratch& scratch, int parts, cudaStream_t stream) {
  GetDecodeSchedMetaParams params{};
  params.b = batch.requests;
  params.s_q = batch.q_len;
  params.block_size_n = kTokensPerBlock;
  params.fixed_overhead_num_blocks = kFixedCostInBlocks;
  params.topk = -1;  // dense
  params.extra_topk = -1;
  params.seqlens_k_ptr = const_cast<int*>(batch.kv_lens);
  params.tile_scheduler_metadata_ptr = static_cast<DecodingSchedMeta*>(scratch.schedule);
  params.num_splits_ptr = scratch.splits;
  params.num_sm_parts = parts;
  params.stream = stream;
  smxx::decode::run_get_decoding_sched_meta_kernel(params);
}

void launch_decode(const Batch& batch, const void* kv, const Scratch& scratch, int parts, cudaStream_t stream) {
  DenseAttnDecodeParams decode = decode_params(batch, kv, scratch, parts, stream);
  sm90::run_flash_splitkv_mla_kernel<cutlass::bfloat16_t>(decode);
  CombineParams combine = combine_params(batch, scratch, parts, stream);
  smxx::decode::run_flash_mla_combine_kernel<cutlass::bfloat16_t>(combine);
}

}  // namespace mla::harness::flashmla
