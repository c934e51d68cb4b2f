// One row of the outputs, wherever a layout has put it.
#pragma once

#include <cstdint>

#include "mla/decode.hpp"

namespace mla::harness {

struct OutputRow {
  const Bfloat16* out;  // [512]
  float lse;
};

/// Of query token `token` of all requests' and head `head`.
[[nodiscard]] inline OutputRow output_row(const DecodeOutputs& outputs, std::int64_t token, int head) {
  return {static_cast<const Bfloat16*>(outputs.out.data) + token * outputs.out.token_stride +
              head * outputs.out.head_stride,
          outputs.lse.data[token * outputs.lse.token_stride + head * outputs.lse.head_stride]};
}

}  // namespace mla::harness
