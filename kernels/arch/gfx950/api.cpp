// The public functions on MI350 and MI355.
#include <cstring>

#include "kernels/arch/cdna/describe.hpp"
#include "kernels/arch/gfx950/arch.hpp"
#include "kernels/decode/api.hpp"
#include "mla/api.hpp"

namespace mla {

namespace {

using Arch = gfx950::Arch;

hipStream_t stream_of(StreamHandle handle) {
  return static_cast<hipStream_t>(handle);
}

}  // namespace

Status describe_device(DeviceModel* model) {
  if (model == nullptr) return Status::refuse(StatusCode::null_pointer, "model", 0, "must not be null");
  int device = 0;
  hipDeviceProp_t properties;
  hipError_t error = hipGetDevice(&device);
  if (error == hipSuccess) error = hipGetDeviceProperties(&properties, device);
  if (error != hipSuccess) {
    return Status::refuse(StatusCode::runtime, "device", static_cast<std::int64_t>(error), hipGetErrorString(error));
  }
  if (std::strncmp(properties.gcnArchName, Arch::kName, std::strlen(Arch::kName)) != 0) {
    return Status::refuse(StatusCode::unsupported, "device", device, "must be a gfx950");
  }
  *model = cdna::describe<Arch>(properties.multiProcessorCount);
  return {};
}

PlanLimits DeviceModel::limits(DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                               std::int32_t max_q_len, bool causal) const {
  return cdna::limits_of(*this, q, kv, heads, max_batch, max_q_len, causal);
}

Precision decode_precision(DataType q, DataType kv) {
  return Api<Arch>::precision(q, kv);
}

Status prepare(const PlanLimits& limits) {
  return Api<Arch>::prepare(limits);
}

Status launch_plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                   std::size_t workspace_bytes, StreamHandle stream) {
  return Api<Arch>::plan(limits, batch, page_size, workspace, workspace_bytes, stream_of(stream));
}

Status launch_decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                     void* workspace, std::size_t workspace_bytes, StreamHandle stream) {
  return Api<Arch>::decode(inputs, outputs, limits, workspace, workspace_bytes, stream_of(stream));
}

}  // namespace mla
