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
};

inline DecodeArguments decode_arguments(const DecodeInputs& inputs, const DecodeOutputs& outputs,
                                        const PlanView& plan) {
  constexpr double kLog2E = 1.4426950408889634;
  DecodeArguments arguments{inputs, outputs, plan};
  arguments.score_scale =
      static_cast<float>(double{inputs.sm_scale} * double{inputs.q_scale} * double{inputs.kv_scale} * kLog2E);
  for (int size = inputs.kv.page_size; size > 1; size /= 2) ++arguments.log2_page_size;
  return arguments;
}

}  // namespace mla
