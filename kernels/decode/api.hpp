// The public functions of mla/api.hpp for one target: its source file instantiates them.
#pragma once

#include "kernels/decode/launch.hpp"
#include "kernels/merge/merge_kernel.hpp"
#include "kernels/plan/plan_kernel.hpp"
#include "kernels/runtime/launch.hpp"
#include "kernels/runtime/runtime.hpp"
#include "mla/api.hpp"
#include "mla/validate.hpp"

namespace mla {

/// `Runtime` tells the GPU's functions from those of the same target executed on the CPU, which one program may hold
/// too.
template <class Arch, class Runtime = runtime::Here>
class Api {
 public:
  static Precision precision(DataType q, DataType kv) {
    Precision precision;
    visit_decode<Arch>(q, kv, Arch::kRowTile, [&]<class Kernel>() {
      precision.probabilities = Kernel::kProbabilityType;
      precision.probability_floor = Kernel::kProbabilityFloor;
      precision.row_sum_of_rounded = false;
      precision.partial_output = DataType::f32;
    });
    return precision;
  }

  static Status prepare(const PlanLimits& limits) {
    if (const Status status = validate(limits); !status.ok()) return status;
    if (const Status status = check_served(limits); !status.ok()) return status;
    hipError_t error = runtime::prepare<PlanKernel<Arch>>();
    visit(limits, [&]<class Kernel>() {
      if (error == hipSuccess) error = runtime::prepare<Kernel>();
      if constexpr (!Arch::kCanAwait) {
        if (error == hipSuccess) error = runtime::prepare<MergeKernel<Arch, Kernel::kRows>>();
      }
    });
    return from(error);
  }

  static Status plan(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size, void* workspace,
                     std::size_t workspace_bytes, hipStream_t stream) {
    if (const Status status = validate(limits, batch, page_size, workspace, workspace_bytes); !status.ok())
      return status;
    if (const Status status = check_served(limits); !status.ok()) return status;
    const typename PlanKernel<Arch>::Arguments arguments{plan_problem(limits, batch, page_size),
                                                         bind_workspace(workspace, workspace_layout(limits))};
    return from(runtime::launch<PlanKernel<Arch>>(1, arguments, stream));
  }

  static Status decode(const DecodeInputs& inputs, const DecodeOutputs& outputs, const PlanLimits& limits,
                       void* workspace, std::size_t workspace_bytes, hipStream_t stream) {
    if (const Status status = validate(inputs, outputs, limits, workspace, workspace_bytes); !status.ok())
      return status;
    if (const Status status = check_served(limits); !status.ok()) return status;
    const WorkspaceLayout layout = workspace_layout(limits);
    const DecodeArguments arguments = decode_arguments(inputs, outputs, bind_workspace(workspace, layout));
    hipError_t error = hipSuccess;
    visit(limits, [&]<class Kernel>() {
      error = enqueue_decode<Kernel>(limits.num_workers, arguments, stream, Arch::kCanAwait);
      if constexpr (!Arch::kCanAwait) {
        using Merge = MergeKernel<Arch, Kernel::kRows>;
        if (error == hipSuccess && layout.max_reductions > 0) {
          error = runtime::launch<Merge>(layout.max_reductions * Merge::kShares, arguments, stream);
        }
      }
    });
    return from(error);
  }

 private:
  /// Calls `visitor` for the kernel that serves the limits, if one does.
  template <class Visitor>
  static void visit(const PlanLimits& limits, Visitor&& visitor) {
    const TileShape tile = tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile);
    visit_decode<Arch>(limits.q_dtype, limits.kv_dtype, tile.rows, visitor);
  }
  static Status check_served(const PlanLimits& limits) {
    if (is_fp8(limits.kv_dtype) && limits.kv_dtype != Arch::kFp8) {
      return Status::refuse_name(StatusCode::unsupported, "limits.kv_dtype", name_of(limits.kv_dtype).data(),
                                 "is not the fp8 encoding of this target");
    }
    const TileShape tile = tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile);
    Status status = Status::refuse(StatusCode::unsupported, "limits.tile", tile.rows,
                                   "rows of a tile: this target has no kernel for them with these types");
    visit(limits, [&]<class Kernel>() { status = check_cut<Kernel>(tile); });
    return status;
  }
  // A plan that cuts requests where the kernel cannot begin a work.
  template <class Kernel>
  static Status check_cut(const TileShape& tile) {
    if (tile.tokens % Kernel::kCutTokens == 0) return {};
    static_assert(Kernel::kCutTokens == 16 || Kernel::kCutTokens == 64, "a rule is a literal that names the number");
    return Status::refuse(StatusCode::unsupported, "limits.tile.tokens", tile.tokens,
                          Kernel::kCutTokens == 16 ? "must be at least 16 for this target's kernel of these types"
                                                   : "must be at least 64 for this target's kernel of these rows");
  }
  static Status from(hipError_t error) {
    if (error == hipSuccess) return {};
    return Status::refuse(StatusCode::runtime, "device", static_cast<std::int64_t>(error), hipGetErrorString(error));
  }
};

}  // namespace mla
