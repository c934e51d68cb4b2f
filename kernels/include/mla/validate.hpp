// What the launches refuse before anything is launched.
#pragma once

#include <cstddef>

#include "mla/decode.hpp"
#include "mla/plan.hpp"
#include "mla/status.hpp"

namespace mla {

/// The contract of a call's arguments, checked on the host without reading device memory:
///
/// - types (q, kv): bf16 and bf16, bf16 and fp8, fp8 and fp8 of one encoding; out is bf16;
/// - heads, types, causal as in the limits, batch within them; page size a power of two from 1 to 256;
/// - q, kv and out begin at a multiple of 16 bytes and so do all their rows (every stride times the element size): the
///   kernels load and store 16 bytes at a time; workspace at a multiple of 256 bytes;
/// - strides leave room for a row (576 elements of q and kv, 512 of out) and, in out and lse, for all heads of a token
///   (or, head-major, are larger for heads than for tokens), and are at most 2^48 elements; strides of dimensions of
///   size 1 are not looked at;
/// - sm_scale, q_scale and kv_scale finite and above zero;
/// - no null pointer; an empty batch needs none, an empty pool (num_pages 0) needs no kv.data and no kv_indices;
/// - `workspace_bytes` at least workspace_size(limits).
///
/// The first broken rule is reported. Array contents are checked by validate_batch on the host, or by the planner on
/// the device (PlanHeader::error).
Status validate(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                const void* workspace, std::size_t workspace_bytes);

/// Of these, the rules that planning depends on: the limits themselves, the batch's size and index arrays, the page
/// size, the workspace.
Status validate(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, const void* workspace,
                std::size_t workspace_bytes);

/// Checks the contents of a batch whose arrays are host memory: query lengths within 0..max_q_len and their total
/// within the limits, KV lengths not negative and at most 2^30, last pages within 1..page_size, page numbers within the
/// pool.
Status validate_batch(const RaggedBatchView& batch, const PlanLimits& limits, std::int32_t page_size,
                      std::int64_t num_pages);

}  // namespace mla
