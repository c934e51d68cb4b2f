#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "harness/core/error.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/inputs/poison.hpp"

namespace mla::harness {

namespace {

// Gaps of a padded layout, in elements. Multiples of 16 bytes in every type, so that vector loads stay legal, and no
// power of two, so that a kernel that rounds a stride goes wrong.
constexpr std::int64_t kHeadGap = 32;
constexpr std::int64_t kTokenGap = 48;
constexpr std::int64_t kPageGap = 80;
constexpr std::int64_t kLseTokenGap = 5;

// More than the pages in use where the problem names no pool: page 0 and enough others to be someone's neighbour.
constexpr std::int64_t spare_pages(std::int64_t used) {
  return 4 + used / 16;
}

constexpr std::int64_t kSpareIndices = 64;

constexpr std::int64_t kMostUnusedBytes = std::int64_t{256} << 20;

std::size_t bytes_of(std::int64_t elements, DataType type) {
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(size_in_bytes(type));
}

std::size_t bytes_of_i32(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(std::int32_t);
}

void check_counts(const DecodeProblem& problem, std::int64_t pool_pages) {
  if (pool_pages <= problem.total_pages()) {
    throw UsageError("pool", fmt::to_string(pool_pages),
                     fmt::format("must exceed the {} pages in use: page 0 stays unused", problem.total_pages()));
  }
  if (pool_pages > kUnreadableIndex) {
    throw UsageError("pool", fmt::to_string(pool_pages), fmt::format("must not exceed {} pages", kUnreadableIndex));
  }
  if (problem.total_q() > std::numeric_limits<std::int32_t>::max()) {
    throw UsageError("q", fmt::to_string(problem.total_q()), "query tokens over all requests must fit 32 bits");
  }
}

}  // namespace

struct DecodeLayout::Sizes {
  std::size_t q, kv, qo_indptr, kv_indptr, kv_indices, kv_last_page_len;
  std::size_t out, lse;

  [[nodiscard]] std::size_t small_inputs() const {
    return Arena::footprint(q) + Arena::footprint(qo_indptr) + Arena::footprint(kv_indptr) +
           Arena::footprint(kv_indices) + Arena::footprint(kv_last_page_len);
  }
};

DecodeLayout::DecodeLayout(const DecodeProblem& problem, DataType native_fp8)
    : problem_(problem),
      q_type_(resolve(problem.fields().q_type, native_fp8)),
      kv_type_(resolve(problem.fields().kv_type, native_fp8)) {
  const auto& fields = problem.fields();
  const std::int64_t padded = fields.layout == Layout::padded ? 1 : 0;
  q_head_stride_ = kHeadDim + padded * kHeadGap;
  q_token_stride_ = fields.heads * q_head_stride_ + padded * kTokenGap;
  kv_token_stride_ = kHeadDim + padded * kTokenGap;
  kv_page_stride_ = fields.page_size * kv_token_stride_ + padded * kPageGap;
  out_head_stride_ = kValueDim + padded * kHeadGap;
  out_token_stride_ = fields.heads * out_head_stride_ + padded * kTokenGap;
  lse_head_stride_ = 1 + padded;
  lse_token_stride_ = fields.heads * lse_head_stride_ + padded * kLseTokenGap;

  const std::int64_t used = problem.total_pages();
  pool_.pages = fields.pool_pages > 0 ? fields.pool_pages : used + spare_pages(used);
  check_counts(problem, pool_.pages);
  pool_.page_bytes = static_cast<std::int64_t>(bytes_of(kv_page_stride_, kv_type_));
  pool_.sparse = fields.pool_pages > 0 && (pool_.pages - used) * pool_.page_bytes > kMostUnusedBytes;
}

DecodeLayout::Sizes DecodeLayout::sizes() const {
  const std::int64_t tokens = problem_.total_q();
  return {.q = bytes_of(tokens * q_token_stride_, q_type_),
          .kv = static_cast<std::size_t>(pool_.pages * pool_.page_bytes),
          .qo_indptr = bytes_of_i32(problem_.batch() + 1),
          .kv_indptr = bytes_of_i32(problem_.batch() + 1),
          .kv_indices = bytes_of_i32(problem_.total_pages() + kSpareIndices),
          .kv_last_page_len = bytes_of_i32(problem_.batch()),
          .out = bytes_of(tokens * out_token_stride_, DataType::bf16),
          .lse = bytes_of(tokens * lse_token_stride_, DataType::f32)};
}

std::size_t DecodeLayout::input_bytes() const {
  const Sizes size = sizes();
  return size.small_inputs() + Arena::footprint(size.kv);
}

std::size_t DecodeLayout::output_bytes() const {
  const Sizes size = sizes();
  return Arena::footprint(size.out) + Arena::footprint(size.lse);
}

std::size_t DecodeLayout::resident_bytes() const {
  if (!pool_.sparse) return input_bytes() + output_bytes();
  // Each page in use with two neighbours, and page 0; the system's own pages are counted whole at both ends.
  const auto runs = static_cast<std::size_t>(problem_.total_pages()) + 1;
  const auto touched = runs * Arena::footprint(3 * static_cast<std::size_t>(pool_.page_bytes));
  const Sizes size = sizes();
  return size.small_inputs() + std::min(touched, Arena::footprint(size.kv)) + output_bytes();
}

DecodeInputBuffers DecodeLayout::take_inputs(Arena& arena) const {
  const Sizes size = sizes();
  // Braced initialisation takes the buffers in this order on every mapping of the arena.
  return {.q = arena.take("q", size.q),
          .kv = arena.take("kv", size.kv),
          .qo_indptr = arena.take("qo_indptr", size.qo_indptr),
          .kv_indptr = arena.take("kv_indptr", size.kv_indptr),
          .kv_indices = arena.take("kv_indices", size.kv_indices),
          .kv_last_page_len = arena.take("kv_last_page_len", size.kv_last_page_len)};
}

DecodeOutputBuffers DecodeLayout::take_outputs(Arena& arena) const {
  const Sizes size = sizes();
  return {.out = arena.take("out", size.out), .lse = arena.take("lse", size.lse)};
}

DecodeInputs DecodeLayout::bind(const DecodeInputBuffers& buffers) const {
  const auto& fields = problem_.fields();
  return {.q = {.data = buffers.q.data().data(),
                .dtype = q_type_,
                .token_stride = q_token_stride_,
                .head_stride = q_head_stride_},
          .kv = {.data = buffers.kv.data().data(),
                 .dtype = kv_type_,
                 .page_stride = kv_page_stride_,
                 .token_stride = kv_token_stride_,
                 .num_pages = pool_.pages,
                 .page_size = fields.page_size},
          .batch = {.batch = problem_.batch(),
                    .qo_indptr = buffers.qo_indptr.as<const std::int32_t>(),
                    .kv_indptr = buffers.kv_indptr.as<const std::int32_t>(),
                    .kv_indices = buffers.kv_indices.as<const std::int32_t>(),
                    .kv_last_page_len = buffers.kv_last_page_len.as<const std::int32_t>()},
          .heads = fields.heads,
          .causal = fields.causal,
          .sm_scale = static_cast<float>(fields.sm_scale),
          .q_scale = static_cast<float>(fields.q_scale),
          .kv_scale = static_cast<float>(fields.kv_scale)};
}

DecodeOutputs DecodeLayout::bind(const DecodeOutputBuffers& buffers) const {
  return {.out = {.data = buffers.out.data().data(),
                  .dtype = DataType::bf16,
                  .token_stride = out_token_stride_,
                  .head_stride = out_head_stride_},
          .lse = {.data = buffers.lse.as<float>(), .token_stride = lse_token_stride_, .head_stride = lse_head_stride_}};
}

}  // namespace mla::harness
