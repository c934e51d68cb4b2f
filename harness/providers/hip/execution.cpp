#include "harness/providers/hip/execution.hpp"

#include <algorithm>

#include "harness/providers/hip/digest.hpp"

namespace mla::harness::hip {

namespace {

void require(const Status& status) {
  if (!status.ok()) throw EnvironmentError(message(status));
}

PlanLimits limits_of(const DecodeCase& problem_case, const DeviceModel& model) {
  const auto& fields = problem_case.problem.fields();
  const int longest = std::max(1, problem_case.problem.max_q_len());
  PlanLimits limits = model.limits(problem_case.layout.q_type(), problem_case.layout.kv_type(), fields.heads,
                                   problem_case.problem.batch(), longest, fields.causal);
  if (fields.workers > 0) limits.num_workers = std::min(fields.workers, limits.num_workers);
  limits.split_limit = fields.split_limit;
  require(validate(limits));
  return limits;
}

}  // namespace

Execution::Execution(const DecodeCase& problem_case, Launch launch, Planning planning)
    : DeviceExecution(problem_case, planning) {
  require(describe_device(&model_));
  limits_ = limits_of(problem_case, model_);
  require(mla::prepare(limits_));
  workspace_bytes_ = workspace_size(limits_);
  workspace_ = DeviceMemory(workspace_bytes_);
  // Scratch may hold anything: NaN here shows a partial result that is read without having been written.
  check(hipMemset(workspace_.data(), 0xff, workspace_.size()), "hipMemset");
  if (launch == Launch::graph) {
    // Captured over an empty batch and NaN queries: a replay that did not read lengths, tables and q again would show.
    empty_inputs();
    step_.emplace(stream(), [this] {
      enqueue_plan();
      enqueue_decode(inputs());
    });
    step_->launch(stream());
    stream().synchronize();
  }
  upload_inputs();
}

void Execution::enqueue_plan() {
  require(
      launch_plan(limits_, inputs().batch, inputs().kv.page_size, workspace_.data(), workspace_bytes_, stream().get()));
}

void Execution::enqueue_decode(const DecodeInputs& inputs) {
  require(launch_decode(inputs, outputs(), limits_, workspace_.data(), workspace_bytes_, stream().get()));
}

void Execution::enqueue_step() {
  if (step_) {
    step_->launch(stream());
  } else {
    DeviceExecution::enqueue_step();
  }
}

KernelInfo Execution::kernel() const {
  return {"split_kv_decode", std::string(model_.target) + (step_ ? " graph" : " eager"), std::string(kSourceDigest)};
}

Precision Execution::precision() const {
  return decode_precision(limits_.q_dtype, limits_.kv_dtype);
}

}  // namespace mla::harness::hip
