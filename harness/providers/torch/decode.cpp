#include <torch/cuda.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "harness/providers/torch/digest.hpp"
#include "harness/providers/torch/module.hpp"

namespace mla::harness::libtorch {

namespace {

using ::torch::Tensor;

::torch::Device best_device() {
  return {::torch::cuda::is_available() ? ::torch::kCUDA : ::torch::kCPU};
}

// libtorch before 2.1 has no fp8 types: bytes, looked up in a table of what they mean.
::torch::ScalarType scalar_type(DataType dtype) {
  switch (dtype) {
    case DataType::bf16: return ::torch::kBFloat16;
    case DataType::f32: return ::torch::kFloat32;
    case DataType::e4m3fn:
    case DataType::e4m3fnuz: return ::torch::kUInt8;
  }
  return ::torch::kUInt8;
}

Tensor fp8_table(DataType dtype, ::torch::Device device) {
  Tensor table = ::torch::empty({256}, ::torch::kFloat32);
  for (int byte = 0; byte < 256; ++byte) {
    const auto bits = static_cast<std::uint8_t>(byte);
    table.data_ptr<float>()[byte] =
        dtype == DataType::e4m3fn ? Float8E4M3FN{bits}.to_float() : Float8E4M3FNUZ{bits}.to_float();
  }
  return table.to(device);
}

// Float32 values of a q or kv tensor of the problem's element type.
class Widen {
 public:
  Widen(DataType dtype, ::torch::Device device) {
    if (is_fp8(dtype)) table_ = fp8_table(dtype, device);
  }
  Tensor operator()(const Tensor& x) const {
    if (!table_.defined()) return x.to(::torch::kFloat32);
    return table_.index_select(0, x.reshape({-1}).to(::torch::kInt32)).view(x.sizes());
  }

 private:
  Tensor table_;
};

// The harness's buffer itself on a CPU, else a copy of all of it, guard zones included, on the device.
class Mirror {
 public:
  Mirror(const Buffer& host, ::torch::Device device) : host_(host) {
    if (!device.is_cpu()) copy_ = host_bytes().to(device);
  }
  // The address on the device of what lies at `address` in the harness's buffer.
  [[nodiscard]] const void* at(const void* address) const {
    if (!copy_.defined()) return address;
    const auto offset = static_cast<const std::byte*>(address) - host_.whole.data();
    return static_cast<const std::byte*>(copy_.data_ptr()) + offset;
  }
  void fetch() const {
    if (copy_.defined()) host_bytes().copy_(copy_);
  }
  void refresh() const {
    if (copy_.defined()) copy_.copy_(host_bytes());
  }

 private:
  [[nodiscard]] Tensor host_bytes() const {
    return ::torch::from_blob(host_.whole.data(), {static_cast<std::int64_t>(host_.whole.size())}, ::torch::kUInt8);
  }

  Buffer host_;
  Tensor copy_;
};

class TorchDecode final : public DecodeExecution {
 public:
  TorchDecode(const DecodeCase& c, const DecodeInputs& inputs, const DecodeOutputs& outputs, ::torch::Device device)
      : device_(device),
        inputs_(inputs),
        q_(c.inputs.q, device),
        kv_(c.inputs.kv, device),
        pages_(c.inputs.kv_indices, device),
        out_(c.outputs.out, device),
        lse_(c.outputs.lse, device),
        widen_q_(inputs.q.dtype, device),
        widen_kv_(inputs.kv.dtype, device) {
    view_inputs(c.problem.total_q(), c.problem.total_pages());
    view_outputs(outputs, c.problem.total_q());
  }

  void run() override {
    const ::torch::InferenceMode inference;
    for (std::int32_t request = 0; request < inputs_.batch.batch; ++request) decode(request);
    if (device_.is_cuda()) ::torch::cuda::synchronize();
  }

  void fetch() override {
    out_.fetch();
    lse_.fetch();
  }

  void refresh_inputs() override {
    for (const Mirror* mirror : {&q_, &kv_, &pages_}) mirror->refresh();
  }

  [[nodiscard]] KernelInfo kernel() const override {
    return {"matmul_softmax", fmt::format("f32.libtorch{}.{}", TORCH_VERSION, device_.str()),
            std::string(kSourceDigest)};
  }

  [[nodiscard]] Precision precision() const override {
    return {.probabilities = DataType::f32, .row_sum_of_rounded = false, .partial_output = DataType::f32};
  }

 private:
  [[nodiscard]] Tensor view(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                            ::torch::ScalarType type) const {
    return ::torch::from_blob(const_cast<void*>(data), sizes, strides,
                              ::torch::TensorOptions().dtype(type).device(device_));
  }

  void view_inputs(std::int64_t tokens, std::int64_t used_pages) {
    const QueryView& q = inputs_.q;
    q_tensor_ = view(q_.at(q.data), {tokens, inputs_.heads, kHeadDim}, {q.token_stride, q.head_stride, 1},
                     scalar_type(q.dtype));
    const PagedKvView& kv = inputs_.kv;
    kv_tensor_ = view(kv_.at(kv.data), {kv.num_pages, kv.page_size, kHeadDim}, {kv.page_stride, kv.token_stride, 1},
                      scalar_type(kv.dtype));
    pages_tensor_ = view(pages_.at(inputs_.batch.kv_indices), {used_pages}, {1}, ::torch::kInt32);
  }

  void view_outputs(const DecodeOutputs& outputs, std::int64_t tokens) {
    const OutputView& out = outputs.out;
    out_tensor_ = view(out_.at(out.data), {tokens, inputs_.heads, kValueDim}, {out.token_stride, out.head_stride, 1},
                       ::torch::kBFloat16);
    const LseView& lse = outputs.lse;
    lse_tensor_ =
        view(lse_.at(lse.data), {tokens, inputs_.heads}, {lse.token_stride, lse.head_stride}, ::torch::kFloat32);
  }

  // [n, 576] float32: the request's pages, gathered, without the unused tail of the last.
  [[nodiscard]] Tensor gather_kv(std::int32_t request) const {
    const std::int64_t first = inputs_.batch.kv_indptr[request];
    const std::int64_t count = inputs_.batch.kv_indptr[request + 1] - first;
    const Tensor pages = kv_tensor_.index_select(0, pages_tensor_.narrow(0, first, count));
    const std::int64_t n = inputs_.batch.kv_length(request, inputs_.kv.page_size);
    return widen_kv_(pages.reshape({-1, kHeadDim}).narrow(0, 0, n));
  }

  // [q_len, 1, n]: true where the query token must not see the KV position.
  [[nodiscard]] Tensor causal_mask(std::int64_t q_len, std::int64_t n) const {
    const auto integers = ::torch::TensorOptions().dtype(::torch::kInt64).device(device_);
    const Tensor query = ::torch::arange(q_len, integers).view({q_len, 1, 1});
    return ::torch::arange(n, integers) > query + (n - q_len);
  }

  void decode(std::int32_t request) {
    const std::int64_t q_len = inputs_.batch.query_length(request);
    const std::int64_t n = inputs_.batch.kv_length(request, inputs_.kv.page_size);
    if (q_len == 0) return;
    const std::int64_t first = inputs_.batch.qo_indptr[request];
    Tensor out = out_tensor_.narrow(0, first, q_len);
    Tensor lse = lse_tensor_.narrow(0, first, q_len);
    if (n == 0) {
      out.zero_();
      lse.fill_(-std::numeric_limits<float>::infinity());
      return;
    }
    const std::int64_t rows = q_len * inputs_.heads;
    const Tensor q = widen_q_(q_tensor_.narrow(0, first, q_len)).reshape({rows, kHeadDim});
    const Tensor kv = gather_kv(request);

    const double scale = double{inputs_.sm_scale} * inputs_.q_scale * inputs_.kv_scale;
    Tensor logits = ::torch::matmul(q, kv.t()).mul_(scale).view({q_len, inputs_.heads, n});
    if (inputs_.causal && q_len > 1) {
      logits.masked_fill_(causal_mask(q_len, n), -std::numeric_limits<double>::infinity());
    }
    const Tensor row_lse = ::torch::logsumexp(logits, -1);
    const Tensor p = ::torch::softmax(logits, -1).view({rows, n});
    Tensor values = ::torch::matmul(p, kv.narrow(1, 0, kValueDim)).mul_(inputs_.kv_scale);
    // A row that sees no token has the softmax 0 / 0.
    values = values.view({q_len, inputs_.heads, kValueDim}).masked_fill(row_lse.isneginf().unsqueeze(-1), 0);
    out.copy_(values);
    lse.copy_(row_lse);
  }

  ::torch::Device device_;
  DecodeInputs inputs_;  // the ragged lengths stay on the host, as they do in a serving framework
  Mirror q_, kv_, pages_, out_, lse_;
  Widen widen_q_, widen_kv_;
  Tensor q_tensor_;      // [T, H, 576]
  Tensor kv_tensor_;     // [pages, page_size, 576]
  Tensor pages_tensor_;  // [used pages]
  Tensor out_tensor_;    // [T, H, 512]
  Tensor lse_tensor_;    // [T, H]
};

bool has_gpu() {
  return !best_device().is_cpu();
}

std::unique_ptr<DecodeExecution> prepare(const DecodeCase& c, const DecodeInputs& inputs, const DecodeOutputs& outputs,
                                         int threads) {
  at::set_num_threads(threads);
  return std::make_unique<TorchDecode>(c, inputs, outputs, best_device());
}

double bf16_matmul_gflops(double seconds, int threads) {
  using Clock = std::chrono::steady_clock;
  const ::torch::InferenceMode inference;
  at::set_num_threads(threads);
  const ::torch::Device device = best_device();
  const std::int64_t largest = device.is_cpu() ? 2048 : 8192;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  double best = 0;
  // From small to large, because a processor without bf16 arithmetic would take many seconds for a large product.
  for (std::int64_t n = 256; Clock::now() < end;) {
    const Tensor a = ::torch::ones({n, n}, ::torch::TensorOptions().device(device).dtype(::torch::kBFloat16));
    const auto begin = Clock::now();
    const Tensor product = ::torch::matmul(a, a);
    if (device.is_cuda()) ::torch::cuda::synchronize();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, 2e-9 * static_cast<double>(n * n * n) / took);
    if (n < largest && 16 * took < seconds) n *= 2;
  }
  return best;
}

}  // namespace

}  // namespace mla::harness::libtorch

extern "C" const mla::harness::libtorch::Module mla_torch_module;
const mla::harness::libtorch::Module mla_torch_module = {
    .has_gpu = mla::harness::libtorch::has_gpu,
    .prepare = mla::harness::libtorch::prepare,
    .bf16_matmul_gflops = mla::harness::libtorch::bf16_matmul_gflops,
};
