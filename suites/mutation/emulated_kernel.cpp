#include "suites/mutation/emulated_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Core>

namespace mla::mutation {

namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXf;  // column-major: a column is a token or a row of the output
using Vector = Eigen::VectorXf;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

float load(const void* data, DataType type, std::int64_t index) {
  switch (type) {
    case DataType::bf16: return static_cast<const Bfloat16*>(data)[index].to_float();
    case DataType::e4m3fn: return static_cast<const Float8E4M3FN*>(data)[index].to_float();
    case DataType::e4m3fnuz: return static_cast<const Float8E4M3FNUZ*>(data)[index].to_float();
    case DataType::f32: return static_cast<const float*>(data)[index];
  }
  return 0;
}

Bfloat16 truncated(float value) {
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
}

// P lies in [0, 1]; in fp8 it is scaled so that 1 is the largest finite value.
float rounded_probability(float p, DataType type) {
  switch (type) {
    case DataType::bf16: return Bfloat16::from_float(p).to_float();
    case DataType::e4m3fn: return Float8E4M3FN::from_float(p * 448).to_float() / 448;
    case DataType::e4m3fnuz: return Float8E4M3FNUZ::from_float(p * 240).to_float() / 240;
    case DataType::f32: return p;
  }
  return p;
}

// What one split leaves behind for each row.
struct Partial {
  Matrix out;  // [512, rows], normalised
  Vector lse;  // [rows]

  explicit Partial(Index rows) : out(Matrix::Zero(kValueDim, rows)), lse(Vector::Constant(rows, kMinusInfinity)) {}
};

// One request. Rows run over the heads first, as in the outputs.
class RequestKernel {
 public:
  RequestKernel(const DecodeInputs& inputs, std::int32_t request, int splits, const Fault& fault)
      : in_(inputs),
        request_(request),
        fault_(fault),
        rows_(Index{inputs.batch.query_length(request)} * inputs.heads),
        tokens_(inputs.batch.kv_length(request, inputs.kv.page_size)),
        split_tokens_(std::max<std::int64_t>(1, divide_up(divide_up(tokens_, splits), kBlockTokens)) * kBlockTokens),
        struck_token_(token_at(fault.place)) {
    load_queries();
  }

  [[nodiscard]] Index rows() const { return rows_; }

  // The merged result.
  [[nodiscard]] Partial run() {
    std::vector<Partial> partials;
    for (std::int64_t begin = 0; begin == 0 || begin < read_tokens(); begin += split_tokens_) {
      partials.push_back(run_split(begin, std::min(begin + split_tokens_, read_tokens())));
    }
    spoil(partials);
    return merge(partials);
  }

 private:
  [[nodiscard]] bool is(Mechanism mechanism) const { return fault_.mechanism == mechanism; }
  [[nodiscard]] bool strikes(Index row) const {
    return fault_.head == kAllHeads || row % in_.heads == std::min(fault_.head, in_.heads - 1);
  }

  [[nodiscard]] std::int64_t token_at(Place place) const {
    const std::int64_t page = in_.kv.page_size;
    switch (place) {
      case Place::first: return 0;
      case Place::middle: return tokens_ / 2;
      case Place::last: return tokens_ - 1;
      case Place::page_edge: return std::max<std::int64_t>(0, tokens_ / 2 / page * page - 1);
      case Place::split_edge: return std::min(split_tokens_, tokens_ - 1);
    }
    return 0;
  }

  // Tokens that the kernel takes the context to have.
  [[nodiscard]] std::int64_t read_tokens() const {
    const std::int64_t page = in_.kv.page_size;
    return is(Mechanism::read_tail) ? (tokens_ + page - 1) / page * page : tokens_;
  }

  [[nodiscard]] std::int64_t visible(Index row) const {
    std::int64_t seen = read_tokens();
    if (in_.causal) seen -= in_.batch.query_length(request_) - 1 - row / in_.heads;
    if (is(Mechanism::shift_mask)) seen = std::min(seen + static_cast<std::int64_t>(fault_.amount), tokens_);
    return std::max<std::int64_t>(0, seen);
  }

  [[nodiscard]] float logit_scale() const {
    float scale = in_.sm_scale * in_.q_scale;
    if (!is(Mechanism::ignore_kv_scale)) scale *= in_.kv_scale;
    const bool off = is(Mechanism::scale_logits) || is(Mechanism::scale_query) || is(Mechanism::scale_keys);
    return off ? scale * static_cast<float>(fault_.amount) : scale;
  }

  [[nodiscard]] float value_scale() const {
    const float scale = is(Mechanism::ignore_kv_scale) ? 1 : in_.kv_scale;
    const bool off = is(Mechanism::scale_values) || is(Mechanism::scale_output);
    return off ? scale * static_cast<float>(fault_.amount) : scale;
  }

  void load_queries() {
    queries_.resize(kHeadDim, rows_);
    const std::int64_t first = in_.batch.qo_indptr[request_];
    for (Index row = 0; row < rows_; ++row) {
      const std::int64_t offset = (first + row / in_.heads) * in_.q.token_stride + row % in_.heads * in_.q.head_stride;
      for (int d = 0; d < kHeadDim; ++d) queries_(d, row) = load(in_.q.data, in_.q.dtype, offset + d);
    }
    if (is(Mechanism::ignore_rope)) queries_.bottomRows(kRopeDim).setZero();
    if (is(Mechanism::add_rope_twice)) queries_.bottomRows(kRopeDim) *= 2;
  }

  [[nodiscard]] std::int64_t physical_page(std::int64_t token) const {
    const std::int32_t* const pages = in_.batch.kv_indices + in_.batch.kv_indptr[request_];
    std::int64_t page = token / in_.kv.page_size;
    const bool struck = page == struck_token_ / in_.kv.page_size;
    if (struck && is(Mechanism::previous_page) && page > 0) --page;
    if (struck && is(Mechanism::unreferenced_page)) return 0;  // the one page that no request ever refers to
    return pages[page];
  }

  // K of tokens [begin, end), one a column.
  [[nodiscard]] Matrix gather(std::int64_t begin, std::int64_t end) const {
    Matrix keys(kHeadDim, end - begin);
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t offset =
          physical_page(token) * in_.kv.page_stride + token % in_.kv.page_size * in_.kv.token_stride;
      for (int d = 0; d < kHeadDim; ++d) keys(d, token - begin) = load(in_.kv.data, in_.kv.dtype, offset + d);
    }
    return keys;
  }

  [[nodiscard]] Partial run_split(std::int64_t begin, std::int64_t end) const {
    Accumulator state(rows_);
    for (std::int64_t block = begin; block < end; block += kBlockTokens) {
      add_block(block, std::min<std::int64_t>(block + kBlockTokens, end), state);
    }
    Partial partial(rows_);
    for (Index row = 0; row < rows_; ++row) {
      float sum = state.sum[row];
      if (state.maximum[row] == kMinusInfinity) continue;  // saw no token
      if (is(Mechanism::scale_row_sum)) sum /= static_cast<float>(fault_.amount);
      partial.out.col(row) = state.value.col(row) * (value_scale() / sum);
      partial.lse[row] = state.maximum[row] + std::log(sum);
    }
    return partial;
  }

  struct Accumulator {
    Vector maximum;
    Vector sum;
    Matrix value;
    explicit Accumulator(Index rows)
        : maximum(Vector::Constant(rows, kMinusInfinity)),
          sum(Vector::Zero(rows)),
          value(Matrix::Zero(kValueDim, rows)) {}
  };

  void add_block(std::int64_t begin, std::int64_t end, Accumulator& state) const {
    const Matrix keys = gather(begin, end);
    Matrix scores = (keys.transpose() * queries_) * logit_scale();
    for (Index row = 0; row < rows_; ++row) add_scores(begin, row, scores, state);
    Matrix values = keys.topRows(kValueDim);
    if (is(Mechanism::roll_values) && values.cols() > 1) {
      values << keys.topRows(kValueDim).rightCols(values.cols() - 1), keys.topRows(kValueDim).leftCols(1);
    }
    state.value.noalias() += values * scores;
  }

  // Turns a row's scores into P in place, after folding them into the running maximum and sum.
  void add_scores(std::int64_t begin, Index row, Matrix& scores, Accumulator& state) const {
    auto column = scores.col(row);
    mask(begin, row, scores);
    const float maximum = std::max(state.maximum[row], column.maxCoeff());
    if (maximum == kMinusInfinity) {
      column.setZero();
      return;
    }
    rescale(begin, row, state, std::exp(state.maximum[row] - maximum));
    state.maximum[row] = maximum;
    for (Index k = 0; k < column.size(); ++k) {
      float p = std::exp(column[k] - maximum);
      if (is(Mechanism::duplicate_token) && begin + k == struck_token_ && strikes(row)) p *= 2;
      const float rounded = round(p);
      state.sum[row] += is(Mechanism::other_row_sum) ? rounded : p;
      column[k] = rounded;
    }
  }

  void mask(std::int64_t begin, Index row, Matrix& scores) const {
    const std::int64_t seen = visible(row);
    for (Index k = 0; k < scores.rows(); ++k) {
      const bool dropped = is(Mechanism::drop_token) && begin + k == struck_token_ && strikes(row);
      if (begin + k >= seen || dropped) scores(k, row) = kMinusInfinity;
    }
  }

  // The maximum rises somewhere in almost every split's second block; the fault is in that one.
  void rescale(std::int64_t begin, Index row, Accumulator& state, float factor) const {
    const bool second = begin % split_tokens_ == kBlockTokens;
    if (!(second && (is(Mechanism::no_rescale_of_output) || is(Mechanism::no_rescale)))) {
      state.value.col(row) *= factor;
    }
    if (!(second && is(Mechanism::no_rescale))) state.sum[row] *= factor;
  }

  [[nodiscard]] float round(float p) const {
    const DataType type = emulated_precision(in_.q.dtype).probabilities;
    if (is(Mechanism::truncate_probabilities)) return truncated(p).to_float();
    return rounded_probability(p, is(Mechanism::coarse_probabilities) ? DataType::e4m3fn : type);
  }

  // Faults between the splits and their merge.
  void spoil(std::vector<Partial>& partials) const {
    const std::size_t struck = partials.size() / 2;
    Partial& split = partials[struck];
    const Partial right = split;
    for (Index row = 0; row < rows_; ++row) {
      if (!strikes(row)) continue;
      const Index other = (row + 1) % rows_;
      if (is(Mechanism::stale_split_output)) split.out.col(row) = right.out.col(other);
      if (is(Mechanism::stale_split_lse)) split.lse[row] = right.lse[other];
      if (is(Mechanism::unwritten_split)) split.out.col(row).setZero();
    }
    Partial empty(rows_);
    if (is(Mechanism::empty_split_nan)) empty.out.setConstant(kNan);
    if (is(Mechanism::empty_split_one)) empty.out.setOnes();
    if (is(Mechanism::empty_split_zero) || is(Mechanism::empty_split_one)) empty.lse.setZero();
    partials.push_back(std::move(empty));
  }

  [[nodiscard]] Partial merge(const std::vector<Partial>& partials) const {
    Partial merged(rows_);
    for (Index row = 0; row < rows_; ++row) {
      float maximum = kMinusInfinity;
      for (const Partial& partial : partials) maximum = std::max(maximum, partial.lse[row]);
      if (maximum == kMinusInfinity && !is(Mechanism::empty_split_nan)) continue;
      float sum = 0;
      float parts = 0;
      for (const Partial& partial : partials) {
        const bool empty = partial.lse[row] == kMinusInfinity;
        sum += std::exp(partial.lse[row] - maximum);
        parts += empty ? 0 : 1;
      }
      for (const Partial& partial : partials) {
        if (partial.lse[row] == kMinusInfinity && !is(Mechanism::empty_split_nan)) continue;
        const float weight =
            is(Mechanism::equal_split_weights) ? 1 / parts : std::exp(partial.lse[row] - maximum) / sum;
        merged.out.col(row) += weight * partial.out.col(row);
      }
      merged.lse[row] = maximum + std::log(sum);
    }
    return merged;
  }

  const DecodeInputs& in_;
  std::int32_t request_;
  const Fault& fault_;
  Index rows_;
  std::int64_t tokens_;
  std::int64_t split_tokens_;
  std::int64_t struck_token_;
  Matrix queries_;
};

// Faults in what is finally written.
void spoil_result(Partial& result, int heads, const Fault& fault) {
  const auto swap_rows = [&](Index a, Index b) {
    result.out.col(a).swap(result.out.col(b));
    std::swap(result.lse[a], result.lse[b]);
  };
  const Index rows = result.out.cols();
  const Index head = fault.head == kAllHeads ? 0 : std::min<Index>(fault.head, heads - 1);
  switch (fault.mechanism) {
    case Mechanism::wrong_element: result.out(100, head) = result.out(101, head); break;
    case Mechanism::swap_heads:
      for (Index row = 0; heads > 1 && row < rows; row += heads) swap_rows(row, row + 1);
      break;
    case Mechanism::swap_queries:
      for (Index row = 0; rows > heads && row < heads; ++row) swap_rows(row, row + heads);
      break;
    case Mechanism::zero_output: result.out.setZero(); break;
    case Mechanism::negate_output: result.out = -result.out; break;
    default: break;
  }
}

}  // namespace

Precision emulated_precision(DataType q) {
  return {.probabilities = q, .row_sum_of_rounded = false, .partial_output = DataType::f32};
}

void run_emulated_kernel(const DecodeInputs& inputs, const DecodeOutputs& outputs, int splits, const Fault& fault) {
  const std::int64_t total = inputs.batch.qo_indptr[inputs.batch.batch] * std::int64_t{inputs.heads};
  for (std::int32_t request = 0; request < inputs.batch.batch; ++request) {
    RequestKernel kernel(inputs, request, splits, fault);
    if (kernel.rows() == 0) continue;
    Partial result = kernel.run();
    spoil_result(result, inputs.heads, fault);
    for (Index row = 0; row < kernel.rows(); ++row) {
      const std::int64_t whole = inputs.batch.qo_indptr[request] * std::int64_t{inputs.heads} + row;
      if (fault.mechanism == Mechanism::skip_last_row && whole + 1 == total) continue;
      const std::int64_t token = whole / inputs.heads;
      const std::int64_t head = whole % inputs.heads;
      auto* const out =
          static_cast<Bfloat16*>(outputs.out.data) + token * outputs.out.token_stride + head * outputs.out.head_stride;
      for (int d = 0; d < kValueDim; ++d) {
        const float value = result.out(d, row);
        out[d] = fault.mechanism == Mechanism::truncate_output ? truncated(value) : Bfloat16::from_float(value);
      }
      outputs.lse.data[token * outputs.lse.token_stride + head * outputs.lse.head_stride] = result.lse[row];
    }
  }
}

}  // namespace mla::mutation
