// The public functions on AMD: those of the target that the current device is.
#include <string_view>
#include <vector>

#include "kernels/arch/cdna/describe.hpp"
#include "kernels/arch/cdna/target.hpp"
#include "mla/api.hpp"

namespace mla {

namespace {

using cdna::Target;

hipStream_t stream_of(StreamHandle handle) {
  return static_cast<hipStream_t>(handle);
}

Status from(hipError_t error) {
  return Status::refuse(StatusCode::runtime, "device", static_cast<std::int64_t>(error), hipGetErrorString(error));
}

/// Null for an architecture that no kernel is built for.
const Target* target_named(std::string_view arch) {
  for (const Target* target : {&gfx950::target(), &gfx942::target()}) {
    const std::string_view name = target->name;
    // What follows the name are features, as in gfx942:sramecc+:xnack-.
    if (arch.substr(0, arch.find(':')) == name) return target;
  }
  return nullptr;
}

/// Of every device: asking the runtime for a device's properties takes longer than a launch.
const std::vector<const Target*>& targets_of_devices() {
  static const std::vector<const Target*> targets = [] {
    int count = 0;
    if (hipGetDeviceCount(&count) != hipSuccess) count = 0;
    std::vector<const Target*> found(static_cast<std::size_t>(count), nullptr);
    for (int device = 0; device < count; ++device) {
      hipDeviceProp_t properties;
      if (hipGetDeviceProperties(&properties, device) != hipSuccess) continue;
      found[static_cast<std::size_t>(device)] = target_named(properties.gcnArchName);
    }
    return found;
  }();
  return targets;
}

struct Current {
  int device = 0;
  const Target* target = nullptr;
  Status status;
};

Current current() {
  Current found;
  if (const hipError_t error = hipGetDevice(&found.device); error != hipSuccess) {
    found.status = from(error);
    return found;
  }
  const auto& targets = targets_of_devices();
  const auto index = static_cast<std::size_t>(found.device);
  if (index < targets.size()) found.target = targets[index];
  if (found.target == nullptr) {
    found.status = Status::refuse(StatusCode::unsupported, "device", found.device, "must be a gfx950 or a gfx942");
  }
  return found;
}

}  // namespace

Status describe_device(DeviceModel* model) {
  if (model == nullptr) return Status::refuse(StatusCode::null_pointer, "model", 0, "must not be null");
  const Current found = current();
  if (!found.status.ok()) return found.status;
  hipDeviceProp_t properties;
  if (const hipError_t error = hipGetDeviceProperties(&properties, found.device); error != hipSuccess) {
    return from(error);
  }
  *model = found.target->describe(properties.multiProcessorCount);
  return {};
}

PlanLimits DeviceModel::limits(DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                               std::int32_t max_q_len, bool causal) const {
  return cdna::limits_of(*this, q, kv, heads, max_batch, max_q_len, causal);
}

Precision decode_precision(DataType q, DataType kv) {
  const Current found = current();
  return (found.target != nullptr ? *found.target : gfx950::target()).precision(q, kv);
}

Status prepare(const PlanLimits& limits) {
  const Current found = current();
  return found.status.ok() ? found.target->prepare(limits) : found.status;
}

Status launch_plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                   std::size_t workspace_bytes, StreamHandle stream) {
  const Current found = current();
  if (!found.status.ok()) return found.status;
  return found.target->plan(limits, batch, page_size, workspace, workspace_bytes, stream_of(stream));
}

Status launch_decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                     void* workspace, std::size_t workspace_bytes, StreamHandle stream) {
  const Current found = current();
  if (!found.status.ok()) return found.status;
  return found.target->decode(inputs, outputs, limits, workspace, workspace_bytes, stream_of(stream));
}

namespace ceilings {

const Launches& launches() {
  const Current found = current();
  return (found.target != nullptr ? *found.target : gfx950::target()).ceilings;
}

}  // namespace ceilings

}  // namespace mla
