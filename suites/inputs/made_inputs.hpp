// Inputs of a problem in an arena of their own, and access to them by logical position.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"

namespace mla::harness {

using Fields = DecodeProblem::Fields;

[[nodiscard]] inline float to_float(const void* element, DataType type) {
  switch (type) {
    case DataType::bf16: return static_cast<const Bfloat16*>(element)->to_float();
    case DataType::e4m3fn: return static_cast<const Float8E4M3FN*>(element)->to_float();
    case DataType::e4m3fnuz: return static_cast<const Float8E4M3FNUZ*>(element)->to_float();
    case DataType::f32: return *static_cast<const float*>(element);
  }
  return 0;
}

class MadeInputs {
 public:
  explicit MadeInputs(Fields fields, DataType native_fp8 = DataType::e4m3fn)
      : problem(std::move(fields)),
        layout(problem, native_fp8),
        arena(Arena::create(layout.input_bytes())),
        buffers(layout.take_inputs(arena)) {
    fill_inputs(problem, layout, buffers);
  }

  [[nodiscard]] DecodeInputs views() const { return layout.bind(buffers); }

  [[nodiscard]] std::span<std::byte> q_row(std::int64_t row, int head) const {
    const QueryView q = views().q;
    return row_at(buffers.q, row * q.token_stride + head * q.head_stride, q.dtype);
  }
  [[nodiscard]] std::span<std::byte> kv_row(int request, std::int64_t position) const {
    const DecodeInputs in = views();
    const std::int64_t page = in.batch.kv_indices[in.batch.kv_indptr[request] + position / in.kv.page_size];
    return row_at(buffers.kv, page * in.kv.page_stride + position % in.kv.page_size * in.kv.token_stride, in.kv.dtype);
  }

  /// Elements of a row times the scale of the tensor.
  [[nodiscard]] std::vector<double> q_values(std::int64_t row, int head) const {
    return values(q_row(row, head), layout.q_type(), problem.fields().q_scale);
  }
  [[nodiscard]] std::vector<double> kv_values(int request, std::int64_t position) const {
    return values(kv_row(request, position), layout.kv_type(), problem.fields().kv_scale);
  }

  /// Bytes of memory that the arena occupies.
  [[nodiscard]] std::size_t resident_bytes() const {
    struct stat status {};
    ::fstat(arena.descriptor(), &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }

  DecodeProblem problem;
  DecodeLayout layout;
  Arena arena;
  DecodeInputBuffers buffers;

 private:
  static std::span<std::byte> row_at(const Buffer& buffer, std::int64_t element, DataType type) {
    const int bytes = size_in_bytes(type);
    return buffer.data().subspan(static_cast<std::size_t>(element * bytes), static_cast<std::size_t>(kHeadDim * bytes));
  }
  static std::vector<double> values(std::span<const std::byte> row, DataType type, double scale) {
    std::vector<double> result(kHeadDim);
    const std::size_t bytes = row.size() / kHeadDim;
    for (std::size_t dim = 0; dim < result.size(); ++dim) {
      result[dim] = scale * static_cast<double>(to_float(row.data() + dim * bytes, type));
    }
    return result;
  }
};

}  // namespace mla::harness
