// One decode step with the kernels alone: 16 heads, bf16, two requests of 1000 and 70 tokens. The same source for every
// target: it runs on the one whose kernels it is linked with.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/runtime/runtime.hpp"
#include "mla/api.hpp"

namespace {

template <class T>
struct OnDevice {
  explicit OnDevice(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    if (hipMalloc(&memory, bytes) != hipSuccess) std::abort();
    if (hipMemcpy(memory, values.data(), bytes, hipMemcpyHostToDevice) != hipSuccess) std::abort();
  }
  ~OnDevice() { (void)hipFree(memory); }
  [[nodiscard]] T* get() const { return static_cast<T*>(memory); }
  void* memory = nullptr;
};

void require(const mla::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", mla::message(status).c_str());
  std::exit(1);
}

}  // namespace

int main() {
  using mla::Bfloat16, mla::DataType, mla::kHeadDim, mla::kValueDim;
  constexpr int kHeads = 16, kPage = 64, kPages = 20, kBatch = 2;
  mla::DeviceModel model;
  require(mla::describe_device(&model));
  // Once: what every later call fits into, and the workspace for it.
  const mla::PlanLimits limits = model.limits(DataType::bf16, DataType::bf16, kHeads, kBatch, 1, true);
  require(mla::prepare(limits));
  const OnDevice workspace(std::vector<std::byte>(mla::workspace_size(limits)));

  // All ones, and sm_scale such that every score is 1: out is 1 and lse is 1 + ln(tokens).
  const OnDevice q(std::vector(kBatch * kHeads * kHeadDim, Bfloat16::from_float(1)));
  const OnDevice kv(std::vector(kPages * kPage * kHeadDim, Bfloat16::from_float(1)));
  const OnDevice<int> qo_indptr({0, 1, 2}), kv_indptr({0, 16, 18}), last_page_len({1000 - 15 * kPage, 70 - kPage});
  const OnDevice<int> pages({3, 1, 4, 15, 9, 2, 6, 5, 19, 8, 7, 10, 11, 12, 13, 14, 0, 16});
  const OnDevice out(std::vector<Bfloat16>(kBatch * kHeads * kValueDim));
  const OnDevice lse(std::vector<float>(kBatch * kHeads));
  mla::DecodeInputs in;
  in.q = {q.get(), DataType::bf16, kHeads * kHeadDim, kHeadDim};
  in.kv = {kv.get(), DataType::bf16, kPage * kHeadDim, kHeadDim, kPages, kPage};
  in.batch = {kBatch, qo_indptr.get(), kv_indptr.get(), pages.get(), last_page_len.get()};
  in.heads = kHeads;
  in.sm_scale = 1.0F / kHeadDim;
  const mla::DecodeOutputs to{{out.get(), DataType::bf16, kHeads * kValueDim, kValueDim}, {lse.get(), kHeads, 1}};

  // Each step: both only enqueue, here on the default stream, and a graph can capture both.
  require(mla::launch_plan(limits, in.batch, kPage, workspace.get(), mla::workspace_size(limits), nullptr));
  require(mla::launch_decode(in, to, limits, workspace.get(), mla::workspace_size(limits), nullptr));
  float got[kBatch * kHeads];
  if (hipMemcpy(got, lse.get(), sizeof got, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("%s: lse %.4f and %.4f\n", model.target, static_cast<double>(got[0]), static_cast<double>(got[kHeads]));
}
