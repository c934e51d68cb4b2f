#include "mla/plan.hpp"

#include "kernels/plan/lanes.hpp"
#include "kernels/plan/planner.hpp"

namespace mla {

PlanProblem plan_problem(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size) {
  PlanProblem problem;
  problem.batch = batch;
  problem.page_size = page_size;
  problem.heads = limits.heads;
  problem.max_q_len = limits.max_q_len;
  problem.max_batch = limits.max_batch;
  problem.max_total_q = total_query_limit(limits);
  problem.num_workers = limits.num_workers;
  problem.split_limit = limits.split_limit;
  problem.causal = limits.causal;
  problem.tile = tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile);
  problem.cost = limits.cost;
  return problem;
}

void make_plan(const PlanProblem& problem, const PlanView& plan) {
  plan::SerialLanes lanes;
  plan::State state{};
  plan::Planner<plan::SerialLanes>(problem, plan, lanes, state).run();
}

}  // namespace mla
