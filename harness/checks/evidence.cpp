#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "harness/checks/patterns.hpp"
#include "reference/widen.hpp"

namespace mla::harness::checks {

namespace {

using Eigen::Index;

// [576, tokens], kv_scale applied.
Eigen::MatrixXf load_keys(const DecodeInputs& inputs, std::int32_t request) {
  const std::int64_t tokens = inputs.batch.kv_length(request, inputs.kv.page_size);
  const std::int32_t* const pages = inputs.batch.kv_indices + inputs.batch.kv_indptr[request];
  Eigen::MatrixXf keys(kHeadDim, tokens);
  Eigen::VectorXd key(kHeadDim);
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t page = pages[token / inputs.kv.page_size];
    const std::int64_t slot = token % inputs.kv.page_size;
    reference::widen(inputs.kv.data, inputs.kv.dtype, page * inputs.kv.page_stride + slot * inputs.kv.token_stride,
                     {key.data(), static_cast<std::size_t>(kHeadDim)});
    keys.col(token) = key.cast<float>() * inputs.kv_scale;
  }
  return keys;
}

Eigen::VectorXf load_query(const DecodeInputs& inputs, const RowState& state) {
  const std::int64_t token = inputs.batch.qo_indptr[state.request] + state.query;
  Eigen::VectorXd query(kHeadDim);
  reference::widen(inputs.q.data, inputs.q.dtype, token * inputs.q.token_stride + state.head * inputs.q.head_stride,
                   {query.data(), static_cast<std::size_t>(kHeadDim)});
  return query.cast<float>() * (inputs.q_scale * inputs.sm_scale);
}

}  // namespace

Eigen::VectorXd Evidence::Row::weights() const {
  return (nope + rope).unaryExpr([this](double logit) { return std::exp(logit - lse); });
}

Evidence::Evidence(const DecodeProblem& problem, const DecodeInputs& inputs, const reference::DecodeOracle& oracle,
                   const DecodeOutputs& outputs, const std::vector<RowState>& rows)
    : problem_(problem), request_(rows.front().request) {
  const Eigen::MatrixXf keys = load_keys(inputs, request_);
  values_ = keys.topRows(kValueDim);
  for (const RowState& state : rows) {
    Row row;
    row.state = state;
    const auto r = static_cast<std::size_t>(state.row);
    row.visible = oracle.visible[r];
    row.lse = oracle.lse[r];
    const double lse = static_cast<double>(lse_value(outputs, state.row, inputs.heads));
    row.lse_error = std::isfinite(lse) && std::isfinite(row.lse) ? lse - row.lse : 0;
    const Eigen::VectorXf query = load_query(inputs, state);
    row.nope = (keys.topRows(kLatentDim).transpose() * query.head(kLatentDim)).cast<double>();
    row.rope = (keys.bottomRows(kRopeDim).transpose() * query.tail(kRopeDim)).cast<double>();
    row.ref.resize(kValueDim);
    row.got.resize(kValueDim);
    for (int dim = 0; dim < kValueDim; ++dim) {
      row.ref[dim] = oracle.out[r * kValueDim + static_cast<std::size_t>(dim)];
      row.got[dim] = static_cast<double>(out_value(outputs, state.row, inputs.heads, dim));
    }
    rows_.push_back(std::move(row));
  }
}

std::string Evidence::token_text(std::int64_t token) const {
  const int page = problem_.fields().page_size;
  return fmt::format("token {} of {} (page {}, slot {})", token, tokens(), token / page, token % page);
}

double Evidence::energy() const {
  double sum = 0;
  for (const Row& row : rows_) sum += (row.got - row.ref).squaredNorm() / (row.state.noise * row.state.noise);
  return sum;
}

double Evidence::share(double captured) const {
  const double signal = energy() - static_cast<double>(kValueDim * std::ssize(rows_));
  return signal > 0 ? std::clamp(captured / signal, 0.0, 1.0) : 0;
}

double Evidence::explained(const std::vector<Eigen::VectorXd>& predicted) const {
  double rest = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rest += (rows_[i].got - predicted[i]).squaredNorm() / (rows_[i].state.noise * rows_[i].state.noise);
  }
  return share(energy() - rest);
}

double Evidence::lse_error() const {
  double sum = 0;
  for (const Row& row : rows_) sum += row.lse_error;
  return sum / static_cast<double>(rows_.size());
}

}  // namespace mla::harness::checks
