#include "suites/mutation/foreign_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <Eigen/Core>

#include "reference/widen.hpp"

namespace mla::mutation {

namespace {

template <class Allowed>
bool every_element(const std::vector<double>& got, const std::vector<double>& ref, Allowed allowed) {
  for (std::size_t i = 0; i < ref.size(); ++i) {
    // Written so that NaN is refused, as torch's isclose does.
    if (!(got[i] == ref[i] || std::abs(got[i] - ref[i]) <= allowed(std::abs(ref[i])))) return false;
  }
  return true;
}

double largest_error(const std::vector<double>& got, const std::vector<double>& ref) {
  double largest = 0;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    const double error = std::abs(got[i] - ref[i]);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

// 1 - 2 x.y / (x.x + y.y) over the whole tensor.
double cosine_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double product = 0;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product += x[i] * y[i];
    squares += x[i] * x[i] + y[i] * y[i];
  }
  return 1 - 2 * product / squares;
}

bool flash_mla(const Compared& c) {
  const bool out = every_element(c.out, c.ref, [](double ref) { return std::max(8e-4, 2.01 / 128 * ref); });
  const bool lse = every_element(c.lse, c.ref_lse, [](double ref) { return std::max(1e-6, 1.2e-4 * ref); });
  return out && lse && cosine_difference(c.out, c.ref) < 5e-6;
}

bool aiter(const Compared& c) {
  if (c.fp8) return cosine_difference(c.out, c.ref) < 3e-2;
  std::size_t off = 0;
  for (std::size_t i = 0; i < c.ref.size(); ++i) {
    off += std::abs(c.out[i] - c.ref[i]) <= 1e-2 + 1e-2 * std::abs(c.ref[i]) ? 0 : 1;
  }
  return static_cast<double>(off) <= 0.05 * static_cast<double>(c.ref.size());
}

bool flash_infer(const Compared& c) {
  const double tolerance = c.fp8 ? 2e-2 : 1e-2;
  return every_element(c.out, c.ref, [tolerance](double ref) { return tolerance + tolerance * ref; });
}

bool flash_infer_fp16(const Compared& c) {
  return every_element(c.out, c.ref, [](double ref) { return 1e-3 + 1e-3 * ref; });
}

bool flash_attention(const Compared& c) {
  return largest_error(c.out, c.ref) <= 2 * largest_error(c.same_precision, c.ref) + 1e-5;
}

constexpr std::array kRules = {
    ForeignRule{"FlashMLA", "FlashMLA, tests: abs 8e-4 or rel 2.01/128, cosine 5e-6, lse 1e-6 or rel 1.2e-4",
                flash_mla},
    ForeignRule{"aiter", "aiter, op_tests: 95 % of the elements within 1e-2 + 1e-2 |ref|; fp8: cosine 3e-2", aiter},
    ForeignRule{"FlashInfer", "FlashInfer, tests: every element within 1e-2 (bf16) or 2e-2 (fp8)", flash_infer},
    ForeignRule{"FlashInfer fp16", "FlashInfer, tests: every element within 1e-3, its rule for fp16", flash_infer_fp16},
    ForeignRule{"FlashAttention", "FlashAttention, tests: twice the error of a plain bf16 implementation, plus 1e-5",
                flash_attention},
};

// [576, count]; column i is the row that starts at element offset(i), times `scale`.
template <class Offset>
Eigen::MatrixXf load(const void* data, DataType type, std::int64_t count, float scale, Offset offset) {
  Eigen::MatrixXf rows(kHeadDim, count);
  Eigen::VectorXd row(kHeadDim);
  for (std::int64_t i = 0; i < count; ++i) {
    reference::widen(data, type, offset(i), {row.data(), static_cast<std::size_t>(kHeadDim)});
    rows.col(i) = row.cast<float>() * scale;
  }
  return rows;
}

float rounded(float value) {
  return Bfloat16::from_float(value).to_float();
}

}  // namespace

std::span<const ForeignRule> foreign_rules() {
  return kRules;
}

std::vector<double> plain_attention(const DecodeInputs& in) {
  std::vector<double> out;
  for (std::int32_t request = 0; request < in.batch.batch; ++request) {
    const std::int64_t tokens = in.batch.kv_length(request, in.kv.page_size);
    const std::int64_t queries = in.batch.query_length(request);
    const std::int32_t* const pages = in.batch.kv_indices + in.batch.kv_indptr[request];
    const Eigen::MatrixXf keys = load(in.kv.data, in.kv.dtype, tokens, in.kv_scale, [&](std::int64_t i) {
      return pages[i / in.kv.page_size] * in.kv.page_stride + i % in.kv.page_size * in.kv.token_stride;
    });
    const Eigen::MatrixXf q =
        load(in.q.data, in.q.dtype, queries * in.heads, in.q_scale * in.sm_scale, [&](std::int64_t i) {
          return (in.batch.qo_indptr[request] + i / in.heads) * in.q.token_stride + i % in.heads * in.q.head_stride;
        });
    Eigen::MatrixXf p = keys.transpose() * q;
    for (Eigen::Index row = 0; row < p.cols(); ++row) {
      const std::int64_t seen = in.causal ? std::max<std::int64_t>(0, tokens - queries + 1 + row / in.heads) : tokens;
      auto visible = p.col(row).head(seen);
      if (seen > 0) {
        visible = (visible.array() - visible.maxCoeff()).exp().matrix();
        visible = (visible / visible.sum()).unaryExpr(&rounded);
      }
      p.col(row).tail(tokens - seen).setZero();
    }
    const Eigen::MatrixXf result = (keys.topRows(kValueDim) * p).unaryExpr(&rounded);
    for (const float value : result.reshaped()) out.push_back(static_cast<double>(value));
  }
  return out;
}

Compared compared(const MutationCase& mutated, std::vector<double> same_precision) {
  const reference::DecodeOracle& oracle = mutated.oracle();
  return {.out = mutated.out(),
          .ref = {oracle.out.begin(), oracle.out.end()},
          .lse = mutated.lse(),
          .ref_lse = {oracle.lse.begin(), oracle.lse.end()},
          .same_precision = std::move(same_precision),
          .fp8 = mutated.problem().fields().q_type != harness::ElementType::bf16};
}

}  // namespace mla::mutation
