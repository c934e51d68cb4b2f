#include "harness/providers/eigen/work_runner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "harness/providers/eigen/widen.hpp"

namespace mla::harness::eigen {

namespace {

// Floats of a full row tile: q, out, max, sum.
constexpr std::ptrdiff_t kTileFloats = static_cast<std::ptrdiff_t>(kHeadDim + kValueDim + 2) * kTileRows;

const void* element(const void* data, DataType dtype, std::int64_t index) {
  return static_cast<const std::byte*>(data) + index * size_in_bytes(dtype);
}

}  // namespace

WorkRunner::WorkRunner()
    : tokens_(kTileTokens * kTokenStride), floats_(kTiles * kTileFloats), visible_(kTiles * kTileRows) {
  for (int i = 0; i < kTiles; ++i) {
    float* at = floats_.data() + i * kTileFloats;
    RowTile& tile = storage_.emplace_back();
    tile.q = at;
    tile.out = tile.q + kHeadDim * kTileRows;
    tile.max = tile.out + kValueDim * kTileRows;
    tile.sum = tile.max + kTileRows;
    tile.visible = visible_.data() + i * kTileRows;
  }
}

void WorkRunner::run(const DecodeInputs& inputs, const Work& work) {
  begin_rows(inputs, work);
  const float scale = inputs.sm_scale * inputs.q_scale * inputs.kv_scale;
  for (std::int64_t first = work.kv_begin; first < work.kv_end; first += kTileTokens) {
    const int count = static_cast<int>(std::min<std::int64_t>(kTileTokens, work.kv_end - first));
    widen_tokens(inputs, work, first, count);
    for (const RowTile& tile : tiles_) attend(tile, tokens_.data(), count, first, scale);
  }
}

void WorkRunner::begin_rows(const DecodeInputs& inputs, const Work& work) {
  value_scale_ = inputs.kv_scale;
  const int rows = work.row_end - work.row_begin;
  tiles_.assign(storage_.begin(), storage_.begin() + (rows + kTileRows - 1) / kTileRows);
  if ((rows - 1) % kTileRows < kLanes) tiles_.back().width = kLanes;
  for (RowTile& tile : tiles_) {
    // Lanes beyond the last row compute on zeros and are never looked at.
    std::fill_n(tile.q, kHeadDim * tile.width, 0.0F);
    std::fill_n(tile.out, kValueDim * tile.width, 0.0F);
    std::fill_n(tile.max, tile.width, kNoLogit);
    std::fill_n(tile.sum, tile.width, 0.0F);
    std::fill_n(tile.visible, tile.width, 0);
    tile.least_visible = std::numeric_limits<std::int64_t>::max();
  }
  for (int row = work.row_begin; row < work.row_end; ++row) begin_row(inputs, work, row);
}

void WorkRunner::begin_row(const DecodeInputs& inputs, const Work& work, int row) {
  RowTile& tile = tiles_[static_cast<std::size_t>((row - work.row_begin) / kTileRows)];
  const int lane = (row - work.row_begin) % kTileRows;
  const int query = row / inputs.heads;
  const int head = row % inputs.heads;

  const std::int64_t token = inputs.batch.qo_indptr[work.request] + query;
  const std::int64_t at = token * inputs.q.token_stride + head * inputs.q.head_stride;
  std::array<float, kHeadDim> q;
  widen(element(inputs.q.data, inputs.q.dtype, at), inputs.q.dtype, kHeadDim, q.data());
  for (int d = 0; d < kHeadDim; ++d) tile.q[d * tile.width + lane] = q[static_cast<std::size_t>(d)];

  const std::int64_t kv_len = inputs.batch.kv_length(work.request, inputs.kv.page_size);
  const std::int32_t q_len = inputs.batch.query_length(work.request);
  tile.visible[lane] = visible_tokens(kv_len, q_len, query, inputs.causal);
  tile.least_visible = std::min(tile.least_visible, tile.visible[lane]);
}

void WorkRunner::widen_tokens(const DecodeInputs& inputs, const Work& work, std::int64_t first, int count) {
  const PagedKvView& kv = inputs.kv;
  const std::int32_t* pages = inputs.batch.kv_indices + inputs.batch.kv_indptr[work.request];
  for (int n = 0; n < count; ++n) {
    const std::int64_t position = first + n;
    const std::int64_t at = pages[position / kv.page_size] * kv.page_stride + position % kv.page_size * kv.token_stride;
    widen(element(kv.data, kv.dtype, at), kv.dtype, kHeadDim, tokens_.data() + n * kTokenStride);
  }
}

void WorkRunner::copy_out(int index, float* values) const {
  const RowTile& tile = tiles_[static_cast<std::size_t>(index / kTileRows)];
  const int lane = index % kTileRows;
  const float sum = tile.sum[lane];
  const float factor = sum == 0 ? 0 : value_scale_ / sum;
  for (int d = 0; d < kValueDim; ++d) values[d] = tile.out[d * tile.width + lane] * factor;
}

float WorkRunner::lse(int index) const {
  const RowTile& tile = tiles_[static_cast<std::size_t>(index / kTileRows)];
  const int lane = index % kTileRows;
  // The sum is at least 1, the largest logit's own share, as soon as one token is visible.
  if (tile.sum[lane] == 0) return -std::numeric_limits<float>::infinity();
  return tile.max[lane] + std::log(tile.sum[lane]);
}

}  // namespace mla::harness::eigen
