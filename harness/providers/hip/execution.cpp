#include "harness/providers/hip/execution.hpp"

#include <algorithm>
#include <cstring>

#include "harness/providers/hip/digest.hpp"

namespace mla::harness::hip {

namespace {

// Rotation must exceed the last-level cache by enough that no page of the next pass is left in it: 60 MB of L2 on an
// H200, 256 MB of memory-side cache on an MI355.
constexpr std::size_t kColdBytes = std::size_t{640} << 20U;
constexpr std::size_t kMostCopies = 256;

void require(const Status& status) {
  if (!status.ok()) throw EnvironmentError(message(status));
}

std::size_t bytes_of(const Buffer& buffer) {
  return buffer.whole.size();
}

}  // namespace

Execution::Execution(const DecodeCase& problem_case, Launch launch)
    : case_(problem_case),
      launch_(launch),
      q_{case_.inputs.q, DeviceMemory(bytes_of(case_.inputs.q))},
      kv_{case_.inputs.kv, DeviceMemory(bytes_of(case_.inputs.kv))},
      qo_indptr_{case_.inputs.qo_indptr, DeviceMemory(bytes_of(case_.inputs.qo_indptr))},
      kv_indptr_{case_.inputs.kv_indptr, DeviceMemory(bytes_of(case_.inputs.kv_indptr))},
      kv_indices_{case_.inputs.kv_indices, DeviceMemory(bytes_of(case_.inputs.kv_indices))},
      kv_last_page_len_{case_.inputs.kv_last_page_len, DeviceMemory(bytes_of(case_.inputs.kv_last_page_len))},
      out_{case_.outputs.out, DeviceMemory(bytes_of(case_.outputs.out))},
      lse_{case_.outputs.lse, DeviceMemory(bytes_of(case_.outputs.lse))} {
  require(describe_device(&model_));
  const auto& fields = case_.problem.fields();
  const int longest = std::max(1, case_.problem.max_q_len());
  limits_ = model_.limits(case_.layout.q_type(), case_.layout.kv_type(), fields.heads, case_.problem.batch(), longest,
                          fields.causal);
  if (fields.workers > 0) limits_.num_workers = std::min(fields.workers, limits_.num_workers);
  limits_.split_limit = fields.split_limit;
  require(validate(limits_));
  require(mla::prepare(limits_));
  workspace_bytes_ = workspace_size(limits_);
  workspace_ = DeviceMemory(workspace_bytes_);
  inputs_ = case_.layout.bind(
      {q_.view(), kv_.view(), qo_indptr_.view(), kv_indptr_.view(), kv_indices_.view(), kv_last_page_len_.view()});
  outputs_ = case_.layout.bind(DecodeOutputBuffers{out_.view(), lse_.view()});
  // Scratch may hold anything: NaN here shows a partial result that is read without having been written.
  check(hipMemset(workspace_.data(), 0xff, workspace_.size()), "hipMemset");
  if (launch_ == Launch::graph) {
    // Captured over an empty batch and NaN queries: a replay that did not read lengths, tables and q again would show.
    for (DeviceBuffer* buffer : {&q_, &kv_indices_}) {
      check(hipMemset(buffer->memory.data(), 0xff, buffer->memory.size()), "hipMemset");
    }
    for (DeviceBuffer* buffer : {&qo_indptr_, &kv_indptr_, &kv_last_page_len_}) {
      check(hipMemset(buffer->memory.data(), 0, buffer->memory.size()), "hipMemset");
    }
    step_.emplace(stream_, [this] {
      enqueue_plan();
      enqueue_decode(inputs_);
    });
    step_->launch(stream_);
    stream_.synchronize();
  }
  upload_inputs();
}

void Execution::upload_inputs() {
  for (const DeviceBuffer* buffer : {&q_, &qo_indptr_, &kv_indptr_, &kv_indices_, &kv_last_page_len_}) {
    upload(buffer->memory.data(), buffer->host.whole);
  }
  if (case_.layout.pool().sparse) {
    upload_pages();
  } else {
    upload(kv_.memory.data(), kv_.host.whole);
  }
}

// A sparse pool is far larger than what it holds: reading all of it on the host would make its holes real.
void Execution::upload_pages() {
  check(hipMemset(kv_.memory.data(), 0xff, kv_.memory.size()), "hipMemset");
  const std::int64_t page_bytes = case_.layout.pool().page_bytes;
  const auto* indices = kv_indices_.host.as<std::int32_t>();
  for (std::int64_t i = 0; i < case_.problem.total_pages(); ++i) {
    const std::size_t offset = Buffer::kGuardBytes + static_cast<std::size_t>(indices[i] * page_bytes);
    upload(kv_.memory.data() + offset, kv_.host.whole.subspan(offset, static_cast<std::size_t>(page_bytes)));
  }
}

void Execution::enqueue_plan() {
  require(
      launch_plan(limits_, inputs_.batch, inputs_.kv.page_size, workspace_.data(), workspace_bytes_, stream_.get()));
}

void Execution::enqueue_decode(const DecodeInputs& inputs) {
  require(launch_decode(inputs, outputs_, limits_, workspace_.data(), workspace_bytes_, stream_.get()));
}

// The harness poisons and arms its own copies of the outputs before each run; the device starts from the same bytes.
void Execution::reset_outputs() {
  for (const DeviceBuffer* buffer : {&out_, &lse_}) upload(buffer->memory.data(), buffer->host.whole);
}

void Execution::run() {
  reset_outputs();
  if (launch_ == Launch::graph) {
    step_->launch(stream_);
  } else {
    enqueue_plan();
    enqueue_decode(inputs_);
  }
  stream_.synchronize();
}

void Execution::fetch() {
  for (const DeviceBuffer* buffer : {&out_, &lse_}) download(buffer->host.whole, buffer->memory.data());
}

KernelInfo Execution::kernel() const {
  return {"split_kv_decode", std::string(model_.target) + (launch_ == Launch::graph ? " graph" : " eager"),
          std::string(kSourceDigest)};
}

Precision Execution::precision() const {
  return decode_precision(limits_.q_dtype, limits_.kv_dtype);
}

DecodeInputs Execution::inputs_with(const DeviceMemory& kv) const {
  DecodeInputs inputs = inputs_;
  inputs.kv.data = kv.data() + Buffer::kGuardBytes;
  return inputs;
}

void Execution::prepare_cold_copies() {
  if (cold_pass_) return;
  const std::size_t bytes = kv_.memory.size();
  const std::size_t copies =
      case_.layout.pool().sparse ? 1 : std::clamp<std::size_t>(kColdBytes / bytes + 1, 1, kMostCopies);
  for (std::size_t i = 1; i < copies; ++i) {
    cold_copies_.emplace_back(bytes);
    check(hipMemcpy(cold_copies_.back().data(), kv_.memory.data(), bytes, hipMemcpyDeviceToDevice), "hipMemcpy");
  }
  // A graph takes the launch overhead of the host out of the time; planning is timed apart (stage_times).
  cold_pass_.emplace(stream_, [this] {
    enqueue_decode(inputs_);
    for (const DeviceMemory& copy : cold_copies_) enqueue_decode(inputs_with(copy));
  });
  enqueue_plan();
}

double Execution::timed_run() {
  prepare_cold_copies();
  const double pass_ns = timer_.measure(stream_, [this] { cold_pass_->launch(stream_); });
  return pass_ns / static_cast<double>(cold_copies_.size() + 1);
}

std::string Execution::cache_regime() const {
  const std::size_t bytes = kv_.memory.size() * (cold_copies_.size() + 1);
  return fmt::format("rotate:{}MiB", bytes >> 20U);
}

std::vector<StageTime> Execution::stage_times() {
  constexpr int kRepeats = 20;
  std::vector<StageTime> stages;
  const auto add = [&](const char* name, const auto& enqueue) {
    const Graph graph(stream_, [&] {
      for (int i = 0; i < kRepeats; ++i) enqueue();
    });
    graph.launch(stream_);
    stages.push_back({name, timer_.measure(stream_, [&] { graph.launch(stream_); }) / kRepeats});
  };
  add("plan", [this] { enqueue_plan(); });
  add("decode_merge_hot", [this] { enqueue_decode(inputs_); });
  add("plan_decode_merge_hot", [this] {
    enqueue_plan();
    enqueue_decode(inputs_);
  });
  return stages;
}

}  // namespace mla::harness::hip
