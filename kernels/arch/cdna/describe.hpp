// What a CDNA target says of itself.
#pragma once

#include "mla/api.hpp"

namespace mla::cdna {

template <class Arch>
DeviceModel describe(int compute_units) {
  DeviceModel model;
  model.target = Arch::kName;
  model.fp8 = Arch::kFp8;
  model.num_workers = compute_units * Arch::kWorkersPerUnit;
  model.tile_bf16 = Arch::tile_limits(DataType::bf16);
  model.tile_fp8 = Arch::tile_limits(Arch::kFp8);
  // Not measured yet: the defaults, which are in tokens, count a token of fp8 as half as long.
  model.cost_fp8 = {2 * model.cost_bf16.work, 2 * model.cost_bf16.partial, 2 * model.cost_bf16.merge,
                    2 * model.cost_bf16.merge_per_split};
  return model;
}

inline PlanLimits limits_of(const DeviceModel& model, DataType q, DataType kv, std::int32_t heads,
                            std::int32_t max_batch, std::int32_t max_q_len, bool causal) {
  PlanLimits limits;
  limits.q_dtype = q;
  limits.kv_dtype = kv;
  limits.heads = heads;
  limits.max_batch = max_batch;
  limits.max_q_len = max_q_len;
  limits.num_workers = model.num_workers;
  limits.causal = causal;
  limits.tile = is_fp8(kv) ? model.tile_fp8 : model.tile_bf16;
  limits.cost = is_fp8(kv) ? model.cost_fp8 : model.cost_bf16;
  return limits;
}

}  // namespace mla::cdna
