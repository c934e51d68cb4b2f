// The public functions on the CPU: gfx950's kernels, executed lane by lane.
#include "mla/api.hpp"

#include "kernels/arch/host/target.hpp"

namespace mla {

namespace {

const host::Target& gfx950() {
  return host::gfx950_target();
}

hipStream_t stream_of(StreamHandle handle) {
  return static_cast<hipStream_t>(handle);
}

}  // namespace

Status describe_device(DeviceModel* model) {
  if (model == nullptr) return Status::refuse(StatusCode::null_pointer, "model", 0, "must not be null");
  *model = gfx950().model;
  model->target = "host";
  model->num_workers = host::kDefaultWorkers;
  return {};
}

PlanLimits DeviceModel::limits(DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                               std::int32_t max_q_len, bool causal) const {
  return gfx950().limits(*this, q, kv, heads, max_batch, max_q_len, causal);
}

Precision decode_precision(DataType q, DataType kv) {
  return gfx950().precision(q, kv);
}

Status prepare(const PlanLimits& limits) {
  return gfx950().prepare(limits);
}

Status launch_plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                   std::size_t workspace_bytes, StreamHandle stream) {
  return gfx950().plan(limits, batch, page_size, workspace, workspace_bytes, stream_of(stream));
}

Status launch_decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                     void* workspace, std::size_t workspace_bytes, StreamHandle stream) {
  return gfx950().decode(inputs, outputs, limits, workspace, workspace_bytes, stream_of(stream));
}

}  // namespace mla
