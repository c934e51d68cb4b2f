// What a decode launch passes to the device, by value.
#pragma once

#include <cstdint>

#include "mla/decode.hpp"
#include "mla/plan.hpp"

namespace mla {

struct DecodeArguments {
  DecodeInputs inputs;
  DecodeOutputs outputs;
  PlanView plan;
  /// sm_scale * q_scale * kv_scale * log2(e): the softmax works in powers of two.
  float score_scale = 0;
  std::int32_t log2_page_size = 0;
  std::int32_t num_workers = 0;
};

}  // namespace mla
