#include "reference/mha.hpp"

#include <cmath>
#include <limits>

#include <Eigen/Core>

#include "reference/widen.hpp"

namespace mla::reference {
namespace {

using Vector = Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The real value of one token's latent row.
Vector latent_row(const MhaInputs& inputs, std::int32_t request, std::int64_t position) {
  const PagedKvView& kv = inputs.kv;
  const std::int64_t logical_page = inputs.batch.kv_indptr[request] + position / kv.page_size;
  const std::int64_t physical_page = inputs.batch.kv_indices[logical_page];
  Vector row(kHeadDim);
  widen(kv.data, kv.dtype, physical_page * kv.page_stride + position % kv.page_size * kv.token_stride,
        {row.data(), static_cast<std::size_t>(kHeadDim)});
  return row * inputs.kv_scale;
}

/// Keys and values of one head of one request, token by token.
struct HeadCache {
  std::vector<Vector> keys;    // each [nope_dim + 64]
  std::vector<Vector> values;  // each [value_dim]
};

HeadCache expand(const MhaInputs& inputs, std::int32_t request, int head) {
  const Eigen::Map<const RowMajor> w_uk(inputs.w_uk.data() + std::int64_t{head} * inputs.nope_dim * kLatentDim,
                                        inputs.nope_dim, kLatentDim);
  const Eigen::Map<const RowMajor> w_uv(inputs.w_uv.data() + std::int64_t{head} * inputs.value_dim * kLatentDim,
                                        inputs.value_dim, kLatentDim);
  HeadCache cache;
  const std::int64_t tokens = inputs.batch.kv_length(request, inputs.kv.page_size);
  for (std::int64_t position = 0; position < tokens; ++position) {
    const Vector row = latent_row(inputs, request, position);
    Vector key(inputs.nope_dim + kRopeDim);
    key << w_uk * row.head(kLatentDim), row.tail(kRopeDim);
    cache.keys.push_back(key);
    cache.values.emplace_back(w_uv * row.head(kLatentDim));
  }
  return cache;
}

Vector query_row(const MhaInputs& inputs, std::int64_t row) {
  Vector query(inputs.nope_dim + kRopeDim);
  query << Eigen::Map<const Vector>(inputs.q_nope.data() + row * inputs.nope_dim, inputs.nope_dim),
      Eigen::Map<const Vector>(inputs.q_pe.data() + row * kRopeDim, kRopeDim);
  return query;
}

/// Softmax attention of `query` over the first `visible` tokens. Returns the log-sum-exp.
double attend(const Vector& query, const HeadCache& cache, std::int64_t visible, double sm_scale,
              Eigen::Ref<Vector> out) {
  out.setZero();
  std::vector<double> scores;
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < visible; ++k) {
    scores.push_back(sm_scale * query.dot(cache.keys[static_cast<std::size_t>(k)]));
    maximum = std::max(maximum, scores.back());
  }
  if (scores.empty()) return maximum;
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double weight = std::exp(scores[k] - maximum);
    sum += weight;
    out += weight * cache.values[k];
  }
  out /= sum;
  return maximum + std::log(sum);
}

}  // namespace

MhaResult multi_head_attention(const MhaInputs& inputs) {
  const RaggedBatchView& batch = inputs.batch;
  const auto rows = static_cast<std::size_t>(batch.qo_indptr[batch.batch]) * static_cast<std::size_t>(inputs.heads);
  MhaResult result{std::vector<double>(rows * static_cast<std::size_t>(inputs.value_dim)), std::vector<double>(rows)};
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::int32_t request = 0; request < batch.batch; ++request) {
    for (int head = 0; head < inputs.heads; ++head) {
      const HeadCache cache = expand(inputs, request, head);
      const auto tokens = static_cast<std::int64_t>(cache.keys.size());
      const std::int64_t queries = batch.query_length(request);
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t visible = inputs.causal ? std::max<std::int64_t>(0, tokens - (queries - 1 - i)) : tokens;
        const std::int64_t row = (batch.qo_indptr[request] + i) * inputs.heads + head;
        Eigen::Map<Vector> out(result.out.data() + row * inputs.value_dim, inputs.value_dim);
        result.lse[static_cast<std::size_t>(row)] =
            attend(query_row(inputs, row), cache, visible, inputs.sm_scale, out);
      }
    }
  }
  return result;
}

}  // namespace mla::reference
