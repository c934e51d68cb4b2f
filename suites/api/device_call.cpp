#include "suites/api/device_call.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ostream>
#include <random>
#include <span>

namespace mla::test {

namespace {

using harness::hip::check;
using harness::hip::DeviceMemory;

std::size_t rows_of(const CallShape& shape) {
  return static_cast<std::size_t>(shape.max_batch) * static_cast<std::size_t>(shape.max_q_len * shape.heads);
}

// Elements between -2 and 2, as bytes of the type.
std::vector<std::byte> random_elements(DataType type, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(size_in_bytes(type)));
  const auto fill = [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const T element = T::from_float(uniform(random));
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  };
  switch (type) {
    case DataType::e4m3fn: fill(Float8E4M3FN{}); break;
    case DataType::e4m3fnuz: fill(Float8E4M3FNUZ{}); break;
    default: fill(Bfloat16{});
  }
  return bytes;
}

DeviceModel described_device() {
  DeviceModel model;
  if (const Status status = describe_device(&model); !status.ok()) throw harness::EnvironmentError(message(status));
  return model;
}

CallShape with_encoding_of(CallShape shape, const DeviceModel& model) {
  if (is_fp8(shape.q)) shape.q = model.fp8;
  if (is_fp8(shape.kv)) shape.kv = model.fp8;
  return shape;
}

template <class T>
void upload(const DeviceMemory& memory, const std::vector<T>& values) {
  harness::hip::upload(memory.data(), std::as_bytes(std::span(values)));
}

std::vector<std::byte> download(const DeviceMemory& memory) {
  std::vector<std::byte> bytes(memory.size());
  harness::hip::download(bytes, memory.data());
  return bytes;
}

}  // namespace

void PrintTo(const CallShape& shape, std::ostream* text) {
  *text << shape.name;
}

DeviceCall::DeviceCall(const CallShape& call_shape, int max_kv)
    : model(described_device()),
      shape(with_encoding_of(call_shape, model)),
      max_pages_((max_kv + shape.page_size - 1) / shape.page_size),
      kv_indices_(static_cast<std::size_t>(shape.max_batch * max_pages_)),
      q_(rows_of(shape) * kHeadDim * static_cast<std::size_t>(size_in_bytes(shape.q))),
      device_qo_indptr_(sizeof(std::int32_t) * static_cast<std::size_t>(shape.max_batch + 1)),
      device_kv_indptr_(sizeof(std::int32_t) * static_cast<std::size_t>(shape.max_batch + 1)),
      device_kv_indices_(sizeof(std::int32_t) * kv_indices_.size()),
      device_last_page_(sizeof(std::int32_t) * static_cast<std::size_t>(shape.max_batch)),
      out_(rows_of(shape) * kValueDim * sizeof(Bfloat16)),
      lse_(rows_of(shape) * sizeof(float)) {
  limits = model.limits(shape.q, shape.kv, shape.heads, shape.max_batch, shape.max_q_len, shape.causal);
  if (shape.workers > 0) limits.num_workers = shape.workers;
  if (const Status status = prepare(limits); !status.ok()) throw harness::EnvironmentError(message(status));
  workspace_bytes = workspace_size(limits);
  workspace_ = DeviceMemory(workspace_bytes);
  workspace = workspace_.data();

  const std::int64_t page = std::int64_t{shape.page_size} * kHeadDim;
  const auto pages = static_cast<std::int64_t>(kv_indices_.size()) + 1;
  const std::vector<std::byte> pool = random_elements(shape.kv, static_cast<std::size_t>(pages * page), 1);
  kv_ = DeviceMemory(pool.size());
  upload(kv_, pool);

  const std::int64_t heads = shape.heads;
  inputs.q = {q_.data(), shape.q, heads * kHeadDim, kHeadDim};
  inputs.kv = {kv_.data(), shape.kv, page, kHeadDim, pages, shape.page_size};
  const auto words = [](const DeviceMemory& memory) {
    return static_cast<const std::int32_t*>(static_cast<const void*>(memory.data()));
  };
  inputs.batch = {shape.max_batch, words(device_qo_indptr_), words(device_kv_indptr_), words(device_kv_indices_),
                  words(device_last_page_)};
  inputs.heads = shape.heads;
  inputs.causal = shape.causal;
  inputs.sm_scale = 0.1352338F;
  inputs.kv_scale = is_fp8(shape.kv) ? 0.75F : 1;
  outputs.out = {out_.data(), DataType::bf16, heads * kValueDim, kValueDim};
  outputs.lse = {static_cast<float*>(static_cast<void*>(lse_.data())), heads, 1};
  poison();
}

void DeviceCall::write_index_arrays(const CallContents& contents) {
  std::vector<std::int32_t> pages(kv_indices_.size());
  std::iota(pages.begin(), pages.end(), 1);
  std::shuffle(pages.begin(), pages.end(), std::mt19937_64(contents.seed));
  qo_indptr_.assign(1, 0);
  kv_indptr_.assign(1, 0);
  kv_last_page_len_.clear();
  for (std::size_t i = 0; i < contents.kv_len.size(); ++i) {
    const int kv_len = contents.kv_len[i];
    qo_indptr_.push_back(qo_indptr_.back() + contents.q_len[i]);
    kv_indptr_.push_back(kv_indptr_.back() + (kv_len + shape.page_size - 1) / shape.page_size);
    kv_last_page_len_.push_back(kv_len == 0 ? 0 : (kv_len - 1) % shape.page_size + 1);
  }
  // Entries beyond the batch's lie outside of the pool.
  std::fill(pages.begin() + *std::ranges::max_element(kv_indptr_), pages.end(), 1 << 30);
  kv_indices_ = pages;
}

void DeviceCall::set(const CallContents& contents) {
  write_index_arrays(contents);
  upload(device_qo_indptr_, qo_indptr_);
  upload(device_kv_indptr_, kv_indptr_);
  upload(device_kv_indices_, kv_indices_);
  upload(device_last_page_, kv_last_page_len_);
  // Lengths that are to be refused may ask for more than there is.
  const std::size_t rows = std::min(rows_of(shape), static_cast<std::size_t>(qo_indptr_.back() * shape.heads));
  std::vector<std::byte> q(q_.size(), std::byte{0xff});
  const std::vector<std::byte> live = random_elements(shape.q, rows * kHeadDim, contents.seed + 100);
  std::ranges::copy(live, q.begin());
  upload(q_, q);
}

void DeviceCall::poison() {
  for (const DeviceMemory* memory : {&out_, &lse_, &workspace_}) {
    check(hipMemset(memory->data(), 0xff, memory->size()), "hipMemset");
  }
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
}

Status DeviceCall::plan() {
  return launch_plan(limits, inputs.batch, inputs.kv.page_size, workspace, workspace_bytes, stream.get());
}

Status DeviceCall::decode() {
  return launch_decode(inputs, outputs, limits, workspace, workspace_bytes, stream.get());
}

std::vector<std::byte> DeviceCall::eager() {
  poison();
  for (const Status& status : {plan(), decode()}) {
    if (!status.ok()) throw harness::EnvironmentError(message(status));
  }
  stream.synchronize();
  return output_bytes();
}

std::vector<std::byte> DeviceCall::replay(const harness::hip::Graph& graph) {
  poison();
  graph.launch(stream);
  stream.synchronize();
  return output_bytes();
}

std::vector<std::byte> DeviceCall::output_bytes() const {
  std::vector<std::byte> bytes = download(out_);
  const std::vector<std::byte> lse_bytes = download(lse_);
  bytes.insert(bytes.end(), lse_bytes.begin(), lse_bytes.end());
  return bytes;
}

std::vector<std::byte> DeviceCall::workspace_bytes_on_host() const {
  return download(workspace_);
}

PlanHeader DeviceCall::header() const {
  PlanHeader header;
  const PlanView plan = bind_workspace(workspace_.data(), workspace_layout(limits));
  check(hipMemcpy(&header, plan.header, sizeof header, hipMemcpyDeviceToHost), "hipMemcpy");
  return header;
}

RaggedBatchView DeviceCall::host_batch() const {
  return {shape.max_batch, qo_indptr_.data(), kv_indptr_.data(), kv_indices_.data(), kv_last_page_len_.data()};
}

std::vector<std::uint16_t> DeviceCall::row(const std::vector<std::byte>& outputs, const CallShape& shape, int token,
                                           int head) {
  std::vector<std::uint16_t> values(kValueDim);
  const std::size_t bytes = values.size() * sizeof(std::uint16_t);
  std::memcpy(values.data(), outputs.data() + static_cast<std::size_t>(token * shape.heads + head) * bytes, bytes);
  return values;
}

float DeviceCall::lse(const std::vector<std::byte>& outputs, const CallShape& shape, int token, int head) {
  const std::size_t out_bytes = rows_of(shape) * kValueDim * sizeof(Bfloat16);
  float value = 0;
  std::memcpy(&value, outputs.data() + out_bytes + static_cast<std::size_t>(token * shape.heads + head) * sizeof value,
              sizeof value);
  return value;
}

}  // namespace mla::test
