#include <cstddef>
#include <cstdint>

#include "mla/plan.hpp"

namespace mla {
namespace {

// Of cudaMalloc and hipMalloc, so that a workspace from either needs no adjusting.
constexpr std::size_t kAlignment = 256;

std::int32_t tile_limit(const PlanLimits& limits, std::int32_t tile_rows) {
  const std::int64_t batch = limits.max_batch;
  const std::int64_t of_batch = batch * row_tiles(limits.heads, limits.max_q_len, tile_rows);
  // Rounding up costs each request less than one tile.
  const std::int64_t of_tokens =
      static_cast<std::int64_t>(total_query_limit(limits)) * limits.heads / tile_rows + batch;
  return static_cast<std::int32_t>(of_batch < of_tokens ? of_batch : of_tokens);
}

class Allocator {
 public:
  template <class T>
  WorkspaceRegion take(std::int64_t count) {
    const WorkspaceRegion region{offset_, sizeof(T) * static_cast<std::size_t>(count)};
    offset_ += (region.bytes + kAlignment - 1) / kAlignment * kAlignment;
    return region;
  }
  [[nodiscard]] std::size_t bytes() const { return offset_; }

 private:
  std::size_t offset_ = 0;
};

}  // namespace

std::int32_t total_query_limit(const PlanLimits& limits) {
  return limits.max_total_q > 0 ? limits.max_total_q : limits.max_batch * limits.max_q_len;
}

WorkspaceLayout workspace_layout(const PlanLimits& limits) {
  WorkspaceLayout layout;
  layout.tile = tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile);
  layout.max_tiles = tile_limit(limits, layout.tile.rows);
  layout.max_works = layout.max_tiles + limits.num_workers - 1;
  layout.max_reductions = limits.split_limit == 1 ? 0 : limits.num_workers - 1;
  layout.max_slots = 2 * layout.max_reductions;

  const std::int64_t workers = limits.num_workers;
  const std::int64_t partial_rows = static_cast<std::int64_t>(layout.max_slots) * layout.tile.rows;
  Allocator allocator;
  layout.header = allocator.take<PlanHeader>(1);
  layout.work_indptr = allocator.take<std::int32_t>(workers + 1);
  layout.starts = allocator.take<WorkerStart>(workers);
  layout.works = allocator.take<Work>(layout.max_works);
  layout.reductions = allocator.take<Reduction>(layout.max_reductions);
  layout.slot_reduction = allocator.take<std::int32_t>(layout.max_slots);
  layout.arrivals = allocator.take<std::int32_t>(layout.max_reductions);
  layout.partial_lse = allocator.take<float>(partial_rows);
  layout.partial_out = allocator.take<float>(partial_rows * kValueDim);
  layout.tile_row_tile = allocator.take<std::int32_t>(layout.max_tiles);
  layout.tile_request = allocator.take<std::int32_t>(layout.max_tiles);
  layout.line = allocator.take<std::int64_t>(layout.max_tiles + 1);
  layout.cuts = allocator.take<PlanCut>(workers + 1);
  layout.worker_slots = allocator.take<std::int32_t>(workers);
  layout.bytes = allocator.bytes();
  return layout;
}

std::size_t workspace_size(const PlanLimits& limits) {
  return workspace_layout(limits).bytes;
}

PlanView bind_workspace(void* workspace, const WorkspaceLayout& layout) {
  auto* base = static_cast<std::byte*>(workspace);
  const auto bind = [base]<class T>(const WorkspaceRegion& region, T*& pointer) {
    pointer = static_cast<T*>(static_cast<void*>(base + region.offset));
  };
  PlanView plan;
  bind(layout.header, plan.header);
  bind(layout.work_indptr, plan.work_indptr);
  bind(layout.starts, plan.starts);
  bind(layout.works, plan.works);
  bind(layout.reductions, plan.reductions);
  bind(layout.slot_reduction, plan.slot_reduction);
  bind(layout.arrivals, plan.arrivals);
  bind(layout.partial_lse, plan.partial_lse);
  bind(layout.partial_out, plan.partial_out);
  bind(layout.tile_row_tile, plan.tile_row_tile);
  bind(layout.tile_request, plan.tile_request);
  bind(layout.line, plan.line);
  bind(layout.cuts, plan.cuts);
  bind(layout.worker_slots, plan.worker_slots);
  return plan;
}

}  // namespace mla
