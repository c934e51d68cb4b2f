#include "harness/providers/eigen/flash_decode.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>

namespace mla::harness::eigen {

namespace {

using Row = Eigen::Map<Eigen::Array<float, kValueDim, 1>>;
using ConstRow = Eigen::Map<const Eigen::Array<float, kValueDim, 1>>;

double elapsed_ns(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - since).count();
}

// Row `row` of a request, where the caller wants it.
void write_row(const DecodeInputs& inputs, const DecodeOutputs& outputs, std::int32_t request, int row,
               const float* values, float lse) {
  const std::int64_t token = inputs.batch.qo_indptr[request] + row / inputs.heads;
  const std::int64_t head = row % inputs.heads;
  auto* out =
      static_cast<Bfloat16*>(outputs.out.data) + token * outputs.out.token_stride + head * outputs.out.head_stride;
  for (int d = 0; d < kValueDim; ++d) out[d] = Bfloat16::from_float(values[d]);
  outputs.lse.data[token * outputs.lse.token_stride + head * outputs.lse.head_stride] = lse;
}

}  // namespace

FlashDecode::FlashDecode(int planned_workers, int split_limit, int threads)
    : pool_(threads),
      planned_workers_(planned_workers),
      split_limit_(split_limit),
      runners_(static_cast<std::size_t>(pool_.size())) {}

FlashDecode::Times FlashDecode::run(const DecodeInputs& inputs, const DecodeOutputs& outputs) {
  Times times;
  auto since = std::chrono::steady_clock::now();
  plan_ = make_split_plan(inputs, planned_workers_, split_limit_);
  const auto rows = static_cast<std::size_t>(plan_.partial_rows);
  if (partial_lse_.size() < rows) {
    partial_lse_.resize(rows);
    partial_out_.resize(rows * kValueDim);
  }
  times.plan_ns = elapsed_ns(since);

  since = std::chrono::steady_clock::now();
  decode(inputs, outputs);
  times.decode_ns = elapsed_ns(since);

  since = std::chrono::steady_clock::now();
  merge(inputs, outputs);
  times.merge_ns = elapsed_ns(since);
  return times;
}

void FlashDecode::decode(const DecodeInputs& inputs, const DecodeOutputs& outputs) {
  std::atomic<std::size_t> next = 0;
  pool_.run([&](int worker) {
    WorkRunner& runner = runners_[static_cast<std::size_t>(worker)];
    std::array<float, kValueDim> values;
    for (std::size_t i = next++; i < plan_.works.size(); i = next++) {
      const Work& work = plan_.works[i];
      runner.run(inputs, work);
      for (int index = 0; index < work.row_end - work.row_begin; ++index) {
        if (work.partial_row == Work::kWhole) {
          runner.copy_out(index, values.data());
          write_row(inputs, outputs, work.request, work.row_begin + index, values.data(), runner.lse(index));
        } else {
          const auto row = static_cast<std::size_t>(work.partial_row + index);
          runner.copy_out(index, &partial_out_[row * kValueDim]);
          partial_lse_[row] = runner.lse(index);
        }
      }
    }
  });
}

void FlashDecode::merge(const DecodeInputs& inputs, const DecodeOutputs& outputs) {
  if (plan_.merges.empty()) return;
  std::atomic<std::size_t> next = 0;
  pool_.run([&](int) {
    std::array<float, kValueDim> values;
    for (std::size_t i = next++; i < plan_.merges.size(); i = next++) {
      const Merge& merge = plan_.merges[i];
      for (int row = merge.row_begin; row < merge.row_end; ++row) {
        const float lse = merge_row(merge, row, values.data());
        write_row(inputs, outputs, merge.request, row, values.data(), lse);
      }
    }
  });
}

// Weighs each split's normalised result by its share of the row's sum; returns the row's log-sum-exp.
float FlashDecode::merge_row(const Merge& merge, int row, float* values) const {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  const int rows = merge.row_end - merge.row_begin;
  const auto partial = [&](int split) {
    return static_cast<std::size_t>(merge.partial_row + split * rows + row - merge.row_begin);
  };
  float largest = kEmpty;
  for (int split = 0; split < merge.splits; ++split) largest = std::max(largest, partial_lse_[partial(split)]);

  Row sum(values);
  sum.setZero();
  float weights = 0;
  for (int split = 0; split < merge.splits; ++split) {
    const float lse = partial_lse_[partial(split)];
    if (lse == kEmpty) continue;
    const float weight = std::exp(lse - largest);
    weights += weight;
    sum += weight * ConstRow(&partial_out_[partial(split) * kValueDim]);
  }
  if (weights == 0) return kEmpty;
  sum /= weights;
  return largest + std::log(weights);
}

}  // namespace mla::harness::eigen
