#include "harness/providers/hip/device_execution.hpp"

#include <algorithm>
#include <array>

namespace mla::harness::hip {

namespace {

// Rotation must exceed the last-level cache by enough that no page of the next pass is left in it: 60 MB of L2 on an
// H200, 256 MB of memory-side cache on an MI355.
constexpr std::size_t kColdBytes = std::size_t{640} << 20U;
constexpr std::size_t kMostCopies = 256;
// Launches of a pass on hot caches: one alone would be timed with the events around it.
constexpr std::size_t kHotLaunches = 20;

std::size_t bytes_of(const Buffer& buffer) {
  return buffer.whole.size();
}

}  // namespace

DeviceExecution::DeviceExecution(const DecodeCase& problem_case, Planning planning)
    : case_(problem_case),
      planning_(planning),
      q_{case_.inputs.q, DeviceMemory(bytes_of(case_.inputs.q))},
      kv_{case_.inputs.kv, DeviceMemory(bytes_of(case_.inputs.kv))},
      qo_indptr_{case_.inputs.qo_indptr, DeviceMemory(bytes_of(case_.inputs.qo_indptr))},
      kv_indptr_{case_.inputs.kv_indptr, DeviceMemory(bytes_of(case_.inputs.kv_indptr))},
      kv_indices_{case_.inputs.kv_indices, DeviceMemory(bytes_of(case_.inputs.kv_indices))},
      kv_last_page_len_{case_.inputs.kv_last_page_len, DeviceMemory(bytes_of(case_.inputs.kv_last_page_len))},
      out_{case_.outputs.out, DeviceMemory(bytes_of(case_.outputs.out))},
      lse_{case_.outputs.lse, DeviceMemory(bytes_of(case_.outputs.lse))},
      inputs_(case_.layout.bind(
          {q_.view(), kv_.view(), qo_indptr_.view(), kv_indptr_.view(), kv_indices_.view(), kv_last_page_len_.view()})),
      outputs_(case_.layout.bind(DecodeOutputBuffers{out_.view(), lse_.view()})) {}

void DeviceExecution::upload_inputs() {
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
void DeviceExecution::upload_pages() {
  check(hipMemset(kv_.memory.data(), 0xff, kv_.memory.size()), "hipMemset");
  const std::int64_t page_bytes = case_.layout.pool().page_bytes;
  const auto* indices = kv_indices_.host.as<std::int32_t>();
  for (std::int64_t i = 0; i < case_.problem.total_pages(); ++i) {
    const std::size_t offset = Buffer::kGuardBytes + static_cast<std::size_t>(indices[i] * page_bytes);
    upload(kv_.memory.data() + offset, kv_.host.whole.subspan(offset, static_cast<std::size_t>(page_bytes)));
  }
}

void DeviceExecution::empty_inputs() {
  for (const DeviceBuffer* buffer : {&q_, &kv_indices_}) {
    check(hipMemset(buffer->memory.data(), 0xff, buffer->memory.size()), "hipMemset");
  }
  for (const DeviceBuffer* buffer : {&qo_indptr_, &kv_indptr_, &kv_last_page_len_}) {
    check(hipMemset(buffer->memory.data(), 0, buffer->memory.size()), "hipMemset");
  }
}

// The harness poisons and arms its own copies of the outputs before each run; the device starts from the same bytes.
void DeviceExecution::reset_outputs() {
  for (const DeviceBuffer* buffer : {&out_, &lse_}) upload(buffer->memory.data(), buffer->host.whole);
}

void DeviceExecution::enqueue_step() {
  enqueue_plan();
  enqueue_decode(inputs_);
}

void DeviceExecution::run() {
  reset_outputs();
  enqueue_step();
  stream_.synchronize();
}

void DeviceExecution::fetch() {
  for (const DeviceBuffer* buffer : {&out_, &lse_}) download(buffer->host.whole, buffer->memory.data());
}

DecodeInputs DeviceExecution::inputs_with(const DeviceMemory& kv) const {
  DecodeInputs inputs = inputs_;
  inputs.kv.data = kv.data() + Buffer::kGuardBytes;
  return inputs;
}

void DeviceExecution::enqueue_timed(const DecodeInputs& inputs) {
  if (planning_ == Planning::inside) enqueue_plan();
  enqueue_decode(inputs);
}

bool DeviceExecution::set_cache(CacheState state) {
  hot_ = state == CacheState::hot;
  pass_.reset();
  pass_inputs_.clear();
  copies_.clear();
  return true;
}

void DeviceExecution::prepare_copies() {
  if (!pass_inputs_.empty()) return;
  const std::size_t bytes = kv_.memory.size();
  const std::size_t copies =
      hot_ || case_.layout.pool().sparse ? 1 : std::clamp<std::size_t>(kColdBytes / bytes + 1, 1, kMostCopies);
  pass_inputs_.assign(hot_ ? kHotLaunches : 1, inputs_);
  for (std::size_t i = 1; i < copies; ++i) {
    copies_.emplace_back(bytes);
    check(hipMemcpy(copies_.back().data(), kv_.memory.data(), bytes, hipMemcpyDeviceToDevice), "hipMemcpy");
    pass_inputs_.push_back(inputs_with(copies_.back()));
  }
  enqueue_plan();
  if (planning_ == Planning::inside && plans_on_host()) return;
  // A graph takes the launch overhead of the host out of the time.
  pass_.emplace(stream_, [this] {
    for (const DecodeInputs& inputs : pass_inputs_) enqueue_timed(inputs);
  });
}

double DeviceExecution::timed_run() {
  prepare_copies();
  double pass_ns = 0;
  if (pass_) {
    pass_ns = timer_.measure(stream_, [this] { pass_->launch(stream_); });
  } else {
    // A step waits for the plan that the host makes for it, as the step of an engine does.
    for (const DecodeInputs& inputs : pass_inputs_) pass_ns += timer_.measure(stream_, [&] { enqueue_timed(inputs); });
  }
  return pass_ns / static_cast<double>(pass_inputs_.size());
}

std::string DeviceExecution::cache_regime() const {
  if (hot_) return "hot";
  const std::size_t bytes = kv_.memory.size() * pass_inputs_.size();
  return fmt::format("rotate:{}MiB", bytes >> 20U);
}

std::string DeviceExecution::pci_address() const {
  int device = 0;
  std::array<char, 32> address{};
  check(hipGetDevice(&device), "hipGetDevice");
  check(hipDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device), "hipDeviceGetPCIBusId");
  return address.data();
}

std::vector<StageTime> DeviceExecution::stage_times() {
  constexpr int kRepeats = 20;
  std::vector<StageTime> stages;
  const auto add_captured = [&](const char* name, const auto& enqueue) {
    const Graph graph(stream_, [&] {
      for (int i = 0; i < kRepeats; ++i) enqueue();
    });
    graph.launch(stream_);
    stages.push_back({name, timer_.measure(stream_, [&] { graph.launch(stream_); }) / kRepeats});
  };
  const auto add_planned = [&](const char* name, const auto& enqueue) {
    if (!plans_on_host()) return add_captured(name, enqueue);
    double ns = 0;
    for (int i = 0; i < kRepeats; ++i) ns += timer_.measure(stream_, enqueue);
    stages.push_back({name, ns / kRepeats});
  };
  add_planned("plan", [this] { enqueue_plan(); });
  add_captured("decode_merge_hot", [this] { enqueue_decode(inputs_); });
  add_planned("plan_decode_merge_hot", [this] {
    enqueue_plan();
    enqueue_decode(inputs_);
  });
  return stages;
}

}  // namespace mla::harness::hip
