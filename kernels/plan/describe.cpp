#include <algorithm>
#include <cstdint>

#include "mla/plan.hpp"

namespace mla {
namespace {

std::int64_t tiles_of(const Work& work, std::int32_t step) {
  return (work.kv_end - work.kv_begin + step - 1) / step;
}

std::int64_t cost_of(const Work& work, const PlanLimits& limits, std::int32_t step) {
  return limits.cost.work + tiles_of(work, step) * step + (work.slot >= 0 ? limits.cost.partial : 0);
}

}  // namespace

PlanSummary describe(const PlanView& plan, const PlanLimits& limits) {
  const WorkspaceLayout layout = workspace_layout(limits);
  const PlanHeader& header = *plan.header;
  PlanSummary summary;
  summary.works = header.num_works;
  summary.split_tiles = header.num_reductions;
  summary.tiles = header.num_tiles;
  summary.slots = header.num_slots;
  summary.max_splits = header.max_splits;
  summary.busy_workers = header.busy_workers;
  summary.num_workers = limits.num_workers;
  summary.tile = layout.tile;
  summary.makespan = header.makespan;
  summary.equal_split_makespan = header.equal_split_makespan;
  summary.workspace_bytes = static_cast<std::int64_t>(layout.bytes);

  std::int64_t total = 0;
  for (std::int32_t worker = 0; worker < limits.num_workers; ++worker) {
    std::int64_t load = 0;
    std::int64_t tiles = 0;
    for (std::int32_t i = plan.work_indptr[worker]; i < plan.work_indptr[worker + 1]; ++i) {
      load += cost_of(plan.works[i], limits, layout.tile.tokens);
      tiles += tiles_of(plan.works[i], layout.tile.tokens);
      summary.kv_tokens += plan.works[i].kv_end - plan.works[i].kv_begin;
    }
    total += load;
    summary.kv_tiles += tiles;
    summary.most_kv_tiles = std::max(summary.most_kv_tiles, tiles);
    summary.busiest_worker = std::max(summary.busiest_worker, load);
  }
  summary.kv_bytes = summary.kv_tokens * kHeadDim * size_in_bytes(limits.kv_dtype);
  summary.partial_bytes =
      std::int64_t{2} * header.num_slots * layout.tile.rows * (kValueDim + 1) * std::int64_t{sizeof(float)};
  if (total > 0) {
    summary.imbalance = static_cast<double>(summary.busiest_worker) * limits.num_workers / static_cast<double>(total);
  }
  return summary;
}

}  // namespace mla
