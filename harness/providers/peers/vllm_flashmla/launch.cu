#include "harness/providers/peers/vllm_flashmla/launch.hpp"

#include <cutlass/numeric_types.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "flash_mla.h"

namespace mla::harness::vllm_flashmla {

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

}  // namespace

int parts(int q_len, int heads) {
  const int tiles = (q_len * heads + kRowsPerTile - 1) / kRowsPerTile;
  return std::max(multiprocessors() / tiles, 1);
}

ScratchBytes scratch_bytes(const Batch& batch, int parts) {
  const auto partial_rows = (static_cast<std::size_t>(batch.requests) + parts) * rows(batch);
  return {.schedule = sizeof(int) * TileSchedulerMetaDataSize * parts,
          .splits = sizeof(int) * (static_cast<std::size_t>(batch.requests) + 1),
          .partial_out = sizeof(float) * partial_rows * kValueDim,
          .partial_lse = sizeof(float) * partial_rows};
}

void launch_plan(const Batch& batch, const Scratch& scratch, int parts, cudaStream_t stream) {
  Mla_metadata_params params{};
  params.seqlens_k_ptr = const_cast<int*>(batch.kv_lens);
  params.tile_scheduler_metadata_ptr = scratch.schedule;
  params.num_splits_ptr = scratch.splits;
  params.batch_size = batch.requests;
  params.block_size_n = kTokensPerBlock;
  params.fixed_overhead_num_blocks = kFixedCostInBlocks;
  params.num_sm_parts = parts;
  get_mla_metadata_func(params, stream);
}

// One KV head: all (query token, head) rows of a request read the same cache.
void launch_decode(const Batch& batch, const void* kv, const Scratch& scratch, int parts, cudaStream_t stream) {
  DecodingParams_fp8 params{};
  params.b = batch.requests;
  params.s_q = batch.q_len;
  params.q_seq_per_hk = rows(batch);
  params.d = kHeadDim;
  params.d_v = kValueDim;
  params.h_q = batch.heads;
  params.h_k = 1;
  params.h_h_k_ratio = 1;
  params.num_blocks = batch.pages;
  params.q_head_per_hk = batch.heads;
  params.is_causal = batch.causal && batch.q_len > 1;
  params.scale_softmax = batch.sm_scale;
  params.scale_softmax_log2 = static_cast<float>(static_cast<double>(batch.sm_scale) * M_LOG2E);
  params.topk = -1;  // dense
  params.descale_q_ptr = const_cast<float*>(batch.q_scale);
  params.descale_k_ptr = const_cast<float*>(batch.kv_scale);
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
  params.o_head_stride = kValueDim;
  params.o_batch_stride = std::int64_t{rows(batch)} * kValueDim;
  params.block_table = const_cast<int*>(batch.block_table);
  params.block_table_batch_stride = batch.pages_per_request;
  params.page_block_size = kPageSize;
  params.seqlens_k_ptr = const_cast<int*>(batch.kv_lens);
  params.tile_scheduler_metadata_ptr = scratch.schedule;
  params.num_sm_parts = parts;
  params.num_splits_ptr = scratch.splits;
  params.total_num_splits = batch.requests + parts;
  params.softmax_lseaccum_ptr = scratch.partial_lse;
  params.oaccum_ptr = scratch.partial_out;
  run_mha_fwd_splitkv_mla<cutlass::float_e4m3_t, cutlass::bfloat16_t, kHeadDim>(params, stream);
}

}  // namespace mla::harness::vllm_flashmla
