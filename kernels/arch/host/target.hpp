// GPU targets as the CPU executes them: the kernels' own source, compiled for the host, over emulated instructions.
#pragma once

#include <cstddef>

#include "kernels/runtime/host/hip.hpp"
#include "mla/api.hpp"

namespace mla::host {

/// Workers of a launch where nobody asks for a number: few enough that a small case does not spend its time on
/// workgroups without work, enough that requests are split.
inline constexpr int kDefaultWorkers = 16;

/// The public functions of one target (see mla/api.hpp). Several targets can be linked together, hence a table.
struct Target {
  DeviceModel model;  // of one compute unit
  PlanLimits (*limits)(const DeviceModel& model, DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                       std::int32_t max_q_len, bool causal);
  Precision (*precision)(DataType q, DataType kv);
  Status (*prepare)(const PlanLimits& limits);
  /// Both return when the kernels have ended. Throw ExecutionError where a kernel breaks a rule of the device: an
  /// access outside the memory of `stream`, lanes that wait for ever.
  Status (*plan)(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                 std::size_t workspace_bytes, hipStream_t stream);
  Status (*decode)(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits, void* workspace,
                   std::size_t workspace_bytes, hipStream_t stream);
};

[[nodiscard]] const Target& gfx950_target();
[[nodiscard]] const Target& gfx942_target();

}  // namespace mla::host
