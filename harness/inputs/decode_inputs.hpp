// The tensors of a decode problem: made once, read by the oracle and by every provider.
#pragma once

#include <array>

#include "harness/inputs/buffer.hpp"
#include "harness/inputs/page_table.hpp"
#include "harness/inputs/poison.hpp"
#include "harness/problem/decode_problem.hpp"
#include "mla/decode.hpp"

namespace mla::harness {

/// The input buffers of a decode problem. What must not be read (unreferenced pages, the unused tail of the last
/// page, gaps of a padded layout) holds NaN; spare index entries hold numbers far outside the pool.
struct DecodeInputBuffers {
  Buffer q;                 // [T, H, 576], bf16 or fp8
  Buffer kv;                // [pool_pages, page_size, 576], bf16 or fp8
  Buffer qo_indptr;         // [B+1] i32
  Buffer kv_indptr;         // [B+1] i32
  Buffer kv_indices;        // [total_pages + spare] i32
  Buffer kv_last_page_len;  // [B] i32

  /// Every buffer, for what is done to each alike.
  [[nodiscard]] std::array<const Buffer*, 6> all() const {
    return {&q, &kv, &qo_indptr, &kv_indptr, &kv_indices, &kv_last_page_len};
  }
};

/// The output buffers; poisoned before each checked run.
struct DecodeOutputBuffers {
  Buffer out;  // [T, H, 512] bf16
  Buffer lse;  // [T, H] f32
};

/// Strides and types of a decode problem once the fp8 encoding is known. Pure arithmetic on the problem.
///
/// The pool holds the pages in use and some more, so that neighbours of used pages are unreferenced ones. Where the
/// problem asks for a pool with more than 256 MiB unused, the pool is sparse: memory is spent on the pages in use and
/// their neighbours alone, and offsets beyond 4 GiB can be tested on a small machine.
class DecodeLayout {
 public:
  /// Throws UsageError where the pool is too small for the pages in use and the unreferenced page 0, or too large for
  /// 32-bit page numbers.
  DecodeLayout(const DecodeProblem& problem, DataType native_fp8);

  [[nodiscard]] DataType q_type() const { return q_type_; }
  [[nodiscard]] DataType kv_type() const { return kv_type_; }
  [[nodiscard]] std::int64_t pool_pages() const { return pool_.pages; }
  [[nodiscard]] const PagePool& pool() const { return pool_; }

  /// Bytes of an arena that holds inputs, or outputs.
  [[nodiscard]] std::size_t input_bytes() const;
  [[nodiscard]] std::size_t output_bytes() const;

  /// Most memory that inputs and outputs come to occupy: less than the sum of the above where the pool is sparse.
  [[nodiscard]] std::size_t resident_bytes() const;

  [[nodiscard]] DecodeInputBuffers take_inputs(Arena& arena) const;
  [[nodiscard]] DecodeOutputBuffers take_outputs(Arena& arena) const;

  /// Views over buffers at the given data addresses: the harness's own, or a device copy of the same buffers.
  [[nodiscard]] DecodeInputs bind(const DecodeInputBuffers& buffers) const;
  [[nodiscard]] DecodeOutputs bind(const DecodeOutputBuffers& buffers) const;

 private:
  // Data bytes of each buffer, in the order in which they are taken.
  struct Sizes;
  [[nodiscard]] Sizes sizes() const;

  DecodeProblem problem_;
  DataType q_type_;
  DataType kv_type_;
  PagePool pool_;
  std::int64_t q_head_stride_ = 0;
  std::int64_t q_token_stride_ = 0;
  std::int64_t kv_token_stride_ = 0;
  std::int64_t kv_page_stride_ = 0;
  std::int64_t out_head_stride_ = 0;
  std::int64_t out_token_stride_ = 0;
  std::int64_t lse_head_stride_ = 0;
  std::int64_t lse_token_stride_ = 0;
};

/// Fills the inputs from the problem's seed and distribution, in parallel; every element depends on the seed and its
/// own logical position (request, position, dimension) alone, not on page size, page order or thread count. The
/// contents are those of the problem's first distribution; the others are `problem.with_distribution(...)`.
void fill_inputs(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers,
                 Unreadable unreadable = Unreadable::nan);

/// Fills outputs with a poison pattern and arms the canaries. Only Poison::nan lets a check tell which elements were
/// not written; the others are for comparing repeats.
void poison_outputs(const DecodeOutputBuffers& buffers, Poison poison = Poison::nan);

/// Digest of everything that a kernel may read, as 16 hex digits: shapes, types, scales, batch description and the
/// visible elements of q and kv. The page table is part of it, since two runs compare in speed only if they walk memory
/// alike; strides, NaN and spare entries are not.
[[nodiscard]] std::string digest(const DecodeProblem& problem, const DecodeLayout& layout,
                                 const DecodeInputBuffers& buffers);

}  // namespace mla::harness
