#include "harness/cli/explain_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "harness/core/error.hpp"
#include "mla/tile.hpp"

namespace mla::harness {

namespace {

// The index arrays of a batch: all that a planner reads.
struct BatchArrays {
  std::vector<std::int32_t> qo_indptr = {0};
  std::vector<std::int32_t> kv_indptr = {0};
  std::vector<std::int32_t> last_page_len;

  explicit BatchArrays(const DecodeProblem& problem) {
    for (int request = 0; request < problem.batch(); ++request) {
      const std::int64_t pages = problem.kv_pages(request);
      qo_indptr.push_back(qo_indptr.back() + problem.q_len(request));
      kv_indptr.push_back(kv_indptr.back() + static_cast<std::int32_t>(pages));
      const std::int64_t before = pages == 0 ? 0 : (pages - 1) * problem.fields().page_size;
      last_page_len.push_back(static_cast<std::int32_t>(problem.kv_len(request) - before));
    }
  }
};

PlanLimits limits_of(const DecodeProblem& problem) {
  const auto& fields = problem.fields();
  PlanLimits limits;
  limits.q_dtype = resolve(fields.q_type, DataType::e4m3fn);
  limits.kv_dtype = resolve(fields.kv_type, DataType::e4m3fn);
  limits.heads = fields.heads;
  limits.max_batch = problem.batch();
  limits.max_total_q = static_cast<std::int32_t>(problem.total_q());
  limits.max_q_len = std::max(1, problem.max_q_len());
  limits.num_workers = fields.workers > 0 ? fields.workers : kExplainedWorkers;
  limits.split_limit = fields.split_limit;
  limits.causal = fields.causal;
  limits.tile = kTileLimitsGfx950;
  return limits;
}

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

}  // namespace

PlanSummary plan_of(const DecodeProblem& problem) {
  const PlanLimits limits = limits_of(problem);
  if (const Status status = validate(limits); !status.ok())
    throw UsageError("problem", problem.word(), message(status));
  const WorkspaceLayout layout = workspace_layout(limits);
  // Untouched parts of a large workspace (the partial results) take no memory.
  const std::unique_ptr<std::byte[], AlignedDelete> workspace(
      static_cast<std::byte*>(::operator new[](layout.bytes, std::align_val_t{256})));
  const BatchArrays arrays(problem);
  const RaggedBatchView batch{problem.batch(), arrays.qo_indptr.data(), arrays.kv_indptr.data(), nullptr,
                              arrays.last_page_len.data()};
  const PlanView plan = bind_workspace(workspace.get(), layout);
  make_plan(plan_problem(limits, batch, problem.fields().page_size), plan);
  return describe(plan, limits);
}

}  // namespace mla::harness
