// The public functions on Hopper.
#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/wide_decode.hpp"
#include "kernels/decode/api.hpp"
#include "mla/api.hpp"

namespace mla {

namespace {

using Sm90Api = Api<sm90::Arch>;

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
  if (properties.major != 9 || properties.minor != 0) {
    return Status::refuse(StatusCode::unsupported, "device", properties.major * 10 + properties.minor,
                          "must be of compute capability 9.0");
  }
  model->target = sm90::Arch::kName;
  model->fp8 = sm90::Arch::kFp8;
  model->num_workers = properties.multiProcessorCount * sm90::Arch::kWorkersPerUnit;
  // Measured on an H200, in the time of a token of a 16-row tile: about 35 ns in bf16.
  model->tile_bf16 = {16, 128, 128, 32};
  model->tile_fp8 = {16, 32, 128, 32};
  model->cost_bf16 = {80, 24, 64, 1};
  model->cost_fp8 = {160, 48, 128, 2};
  return {};
}

PlanLimits DeviceModel::limits(DataType q, DataType kv, std::int32_t heads, std::int32_t max_batch,
                               std::int32_t max_q_len, bool causal) const {
  PlanLimits limits;
  limits.q_dtype = q;
  limits.kv_dtype = kv;
  limits.heads = heads;
  limits.max_batch = max_batch;
  limits.max_q_len = max_q_len;
  limits.num_workers = num_workers;
  limits.causal = causal;
  limits.tile = is_fp8(kv) ? tile_fp8 : tile_bf16;
  limits.cost = is_fp8(kv) ? cost_fp8 : cost_bf16;
  // A few requests of fp8 are done sooner by more and smaller tiles: at 128 heads 1 x 4k takes 15 us by tiles of 32
  // rows and 28 by wide ones, 16 x 4k 73 and 62 us.
  if (is_fp8(kv) && max_batch < 8) limits.tile.max_rows_fp8 = 32;
  std::int32_t rows = tile_shape(q, kv, heads, max_q_len, limits.tile).rows;
  // Half a wide tile is faster than a whole one of 32 rows: 156 to 174 us for two query tokens at 16 heads, 4k x 128.
  if (rows == 32 && !is_fp8(kv)) rows = limits.tile.min_rows = 64;
  // Wide tiles take KV in blocks of 64 tokens, and the widest two workgroups to a worker.
  if (rows >= 64) {
    limits.tile.tokens = 64;
    limits.cost = {240, 64, 64, 1};
  }
  if (rows >= 128) limits.num_workers /= 2;
  return limits;
}

Precision decode_precision(DataType q, DataType kv) {
  return Sm90Api::precision(q, kv);
}

Status prepare(const PlanLimits& limits) {
  return Sm90Api::prepare(limits);
}

Status launch_plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                   std::size_t workspace_bytes, StreamHandle stream) {
  return Sm90Api::plan(limits, batch, page_size, workspace, workspace_bytes, stream_of(stream));
}

Status launch_decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                     void* workspace, std::size_t workspace_bytes, StreamHandle stream) {
  return Sm90Api::decode(inputs, outputs, limits, workspace, workspace_bytes, stream_of(stream));
}

}  // namespace mla
