// The launches of one CDNA target behind a table, so that a program can hold the kernels of several and take those that
// its device needs (cdna/api.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ceilings/launches.hpp"
#include "kernels/runtime/runtime.hpp"
#include "mla/api.hpp"

namespace mla::cdna {

/// The functions of mla/api.hpp and of kernels/ceilings, for one target.
struct Target {
  const char* name;  // what the runtime's name of the architecture begins with
  DeviceModel (*describe)(int compute_units);
  Precision (*precision)(DataType q, DataType kv);
  Status (*prepare)(const PlanLimits& limits);
  Status (*plan)(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                 std::size_t workspace_bytes, hipStream_t stream);
  Status (*decode)(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits, void* workspace,
                   std::size_t workspace_bytes, hipStream_t stream);
  ceilings::Launches ceilings;
};

}  // namespace mla::cdna

namespace mla::gfx942 {
[[nodiscard]] const cdna::Target& target();
}
namespace mla::gfx950 {
[[nodiscard]] const cdna::Target& target();
}
