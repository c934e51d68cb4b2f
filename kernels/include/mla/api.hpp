// Launching the kernels. One library a target implements these; an integrator includes this header, links one of them
// and calls, in this order:
//
//   DeviceModel model;  describe_device(&model)             once
//   PlanLimits limits = model.limits(q, kv, heads, ...)      once a captured graph, or a model
//   void* workspace = <device memory, workspace_size(limits) bytes, 256-byte aligned>
//   prepare(limits)                                          once, outside of any capture
//   launch_plan(...); launch_decode(...)                     each step: both enqueue only, and can be captured together
//
// A captured plan + decode reads lengths, page tables and q from the same buffers at every replay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mla/decode.hpp"
#include "mla/plan.hpp"
#include "mla/status.hpp"

namespace mla {

/// What the launches need to know of the current device.
struct DeviceModel {
  const char* target = "";  // "sm90", "gfx950", "gfx942", "host"
  DataType fp8 = DataType::e4m3fn;
  std::int32_t num_workers = 0;  // persistent workgroups that are resident together
  TileLimits tile_bf16;          // limits of tiles where KV is bf16
  TileLimits tile_fp8;
  CostModel cost_bf16;
  CostModel cost_fp8;

  /// Limits for a shape, everything else as the device wants it.
  [[nodiscard]] PlanLimits limits(DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                                  std::int32_t max_q_len, bool causal) const;
};

/// A stream of the target's runtime (hipStream_t, cudaStream_t); null is its default stream.
using StreamHandle = void*;

Status describe_device(DeviceModel* model);

/// What the kernel that serves these types promises of its arithmetic.
[[nodiscard]] Precision decode_precision(DataType q, DataType kv);

/// Readies the kernels that `limits` selects; refuses limits that no kernel of this target serves, by their types, the
/// rows of their tile or the tokens at which it may cut requests. Not capturable.
Status prepare(const PlanLimits& limits);

/// Enqueues the planner. Errors in device-side lengths are reported in the plan's header and make it empty.
Status launch_plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                   std::size_t workspace_bytes, StreamHandle stream);

/// Enqueues decode, and the merge of what the plan split. Refuses, with the argument and the rule, what validate()
/// does; nothing is enqueued then. One call at a time on a workspace.
Status launch_decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                     void* workspace, std::size_t workspace_bytes, StreamHandle stream);

}  // namespace mla
