// The public functions of mla/api.hpp for one target: its source file instantiates them.
#pragma once

#include "kernels/decode/launch.hpp"
#include "kernels/merge/merge_kernel.hpp"
#include "kernels/plan/plan_kernel.hpp"
#include "kernels/runtime/launch.hpp"
#include "mla/api.hpp"
#include "mla/validate.hpp"

namespace mla {

template <class Arch>
class Api {
 public:
  static Precision precision(DataType q, DataType kv) {
    Precision precision;
    visit_decode<Arch>(q, kv, Arch::kRowTile, [&]<class Kernel>() {
      precision.probabilities = Kernel::kProbabilityType;
      precision.row_sum_of_rounded = false;
      precision.partial_output = DataType::f32;
    });
    return precision;
  }

  static Status prepare(const PlanLimits& limits) {
    if (const Status status = validate(limits); !status.ok()) return status;
    const WorkspaceLayout layout = workspace_layout(limits);
    hipError_t error = runtime::prepare<PlanKernel<Arch>>();
    const bool served = visit_decode<Arch>(limits.q_dtype, limits.kv_dtype, layout.tile.rows, [&]<class Kernel>() {
      if (error == hipSuccess) error = runtime::prepare<Kernel>();
      if constexpr (!Arch::kCanAwait) {
        if (error == hipSuccess) error = runtime::prepare<MergeKernel<Arch, Kernel::kRows>>();
      }
    });
    if (!served) return not_served(layout);
    return from(error);
  }

  static Status plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                     std::size_t workspace_bytes, hipStream_t stream) {
    if (const Status status = validate(limits); !status.ok()) return status;
    const WorkspaceLayout layout = workspace_layout(limits);
    if (workspace == nullptr) return Status::refuse(StatusCode::null_pointer, "workspace", 0, "must not be null");
    if (workspace_bytes < layout.bytes) {
      return Status::refuse(StatusCode::too_small, "workspace_bytes", static_cast<std::int64_t>(workspace_bytes),
                            "must be at least workspace_size(limits)");
    }
    if (!is_valid_page_size(page_size)) {
      return Status::refuse(StatusCode::bad_value, "kv.page_size", page_size, "must be a power of two from 1 to 256");
    }
    const typename PlanKernel<Arch>::Arguments arguments{plan_problem(limits, batch, page_size),
                                                         bind_workspace(workspace, layout)};
    return from(runtime::launch<PlanKernel<Arch>>(1, arguments, stream));
  }

  static Status decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                       void* workspace, std::size_t workspace_bytes, hipStream_t stream) {
    if (const Status status = validate(inputs, outputs, limits, workspace, workspace_bytes); !status.ok())
      return status;
    const WorkspaceLayout layout = workspace_layout(limits);
    const DecodeArguments arguments = decode_arguments(inputs, outputs, bind_workspace(workspace, layout));
    hipError_t error = hipSuccess;
    const bool served = visit_decode<Arch>(inputs.q.dtype, inputs.kv.dtype, layout.tile.rows, [&]<class Kernel>() {
      error = enqueue_decode<Kernel>(limits.num_workers, arguments, stream, Arch::kCanAwait);
      if constexpr (!Arch::kCanAwait) {
        using Merge = MergeKernel<Arch, Kernel::kRows>;
        if (error == hipSuccess && layout.max_reductions > 0) {
          error = runtime::launch<Merge>(layout.max_reductions * Merge::kShares, arguments, stream);
        }
      }
    });
    if (!served) return not_served(layout);
    return from(error);
  }

 private:
  static Status not_served(const WorkspaceLayout& layout) {
    return Status::refuse(StatusCode::unsupported, "limits.tile", layout.tile.rows,
                          "rows of a tile: this target has no kernel for them with these types");
  }
  static Status from(hipError_t error) {
    if (error == hipSuccess) return {};
    return Status::refuse(StatusCode::runtime, "device", static_cast<std::int64_t>(error), hipGetErrorString(error));
  }
};

}  // namespace mla
