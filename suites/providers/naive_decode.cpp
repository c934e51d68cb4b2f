#include "suites/providers/naive_decode.hpp"

#include <cstdint>
#include <limits>

namespace mla::test {

namespace {

double element(const void* data, DataType dtype, std::int64_t index) {
  switch (dtype) {
    case DataType::bf16: return static_cast<double>(static_cast<const Bfloat16*>(data)[index].to_float());
    case DataType::e4m3fn: return static_cast<double>(static_cast<const Float8E4M3FN*>(data)[index].to_float());
    case DataType::e4m3fnuz: return static_cast<double>(static_cast<const Float8E4M3FNUZ*>(data)[index].to_float());
    case DataType::f32: return static_cast<double>(static_cast<const float*>(data)[index]);
  }
  return 0;
}

struct NaiveRow {
  const DecodeInputs& in;
  std::int32_t request;
  std::int64_t token;
  std::int64_t head;

  [[nodiscard]] double kv(std::int64_t position, int d) const {
    const std::int64_t page = in.batch.kv_indices[in.batch.kv_indptr[request] + position / in.kv.page_size];
    const std::int64_t slot = position % in.kv.page_size;
    return static_cast<double>(in.kv_scale) *
           element(in.kv.data, in.kv.dtype, page * in.kv.page_stride + slot * in.kv.token_stride + d);
  }
  [[nodiscard]] double q(int d) const {
    return static_cast<double>(in.q_scale) *
           element(in.q.data, in.q.dtype, token * in.q.token_stride + head * in.q.head_stride + d);
  }
  [[nodiscard]] double logit(std::int64_t position) const {
    double sum = 0;
    for (int d = 0; d < kHeadDim; ++d) sum += q(d) * kv(position, d);
    return sum * static_cast<double>(in.sm_scale);
  }
  [[nodiscard]] std::int64_t visible() const {
    const std::int64_t kv_len = in.batch.kv_length(request, in.kv.page_size);
    const std::int64_t row = token - in.batch.qo_indptr[request];
    return in.causal ? kv_len - in.batch.query_length(request) + row + 1 : kv_len;
  }
};

void add_row(const NaiveRow& row, NaiveResult& result) {
  std::vector<double> weights;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < row.visible(); ++k) {
    weights.push_back(row.logit(k));
    largest = std::max(largest, weights.back());
  }
  double total = 0;
  for (double& w : weights) total += w = std::exp(w - largest);
  result.lse.push_back(weights.empty() ? largest : largest + std::log(total));
  for (int d = 0; d < kValueDim; ++d) {
    double out = 0;
    double abs_sum = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double term = weights[k] / total * row.kv(static_cast<std::int64_t>(k), d);
      out += term;
      abs_sum += std::abs(term);
    }
    result.out.push_back(out);
    result.abs_sum.push_back(abs_sum);
  }
}

}  // namespace

NaiveResult naive_decode(const DecodeInputs& inputs) {
  NaiveResult result;
  for (std::int32_t request = 0; request < inputs.batch.batch; ++request) {
    for (std::int64_t token = inputs.batch.qo_indptr[request]; token < inputs.batch.qo_indptr[request + 1]; ++token) {
      for (std::int64_t head = 0; head < inputs.heads; ++head) add_row({inputs, request, token, head}, result);
    }
  }
  return result;
}

}  // namespace mla::test
