// The KV tiles of one worker as a single sequence, across the borders of its works, so that the copies of the next work
// are under way while the last tiles of this one are computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode/arguments.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

/// Global address of row `row` of a work's tile of q; past the tile's last row, of that one: copies of it do no harm,
/// because their results are not stored.
template <class Arch>
MLA_DEVICE const std::byte* query_address(const DecodeArguments& arguments, int index, int row) {
  const Work* work = arguments.plan.works + index;
  const int last = Arch::load(&work->row_count) - 1;
  const QueryView& q = arguments.inputs.q;
  const int of_request = Arch::load(&work->row_begin) + (row < last ? row : last);
  const int token = of_request / arguments.inputs.heads;
  const int head = of_request - token * arguments.inputs.heads;
  const std::int64_t element =
      (std::int64_t{Arch::load(&work->q_token)} + token) * q.token_stride + head * q.head_stride;
  return static_cast<const std::byte*>(q.data) + element * size_in_bytes(q.dtype);
}

/// Position in the sequence of tiles. The descriptions of the next works are loaded ahead of their use: a load costs as
/// much time as a tile.
template <class Arch, int kTokens>
class TileStream {
 public:
  MLA_DEVICE TileStream(const DecodeArguments& arguments, const WorkerStart& start)
      : arguments_(arguments), upcoming_(start.first_work + 1), end_(start.end_work) {
    const Work& first = start.first;
    if (first.kv_begin < first.kv_end) {
      next_ = {start.first_work, first.kv_begin, first.kv_end, first.first_page};
    } else {
      next_ = fetch();
    }
    advance_work();
  }

  [[nodiscard]] MLA_DEVICE bool done() const { return current_.work < 0; }
  /// The current tile's work, and whether the tile is its first.
  [[nodiscard]] MLA_DEVICE int work() const { return current_.work; }
  [[nodiscard]] MLA_DEVICE bool first() const { return position_ == current_.kv_begin; }

  /// Tokens of the work from the current tile on.
  [[nodiscard]] MLA_DEVICE int tokens_left() const { return current_.kv_end - position_; }

  MLA_DEVICE void advance() {
    position_ += kTokens;
    if (position_ >= current_.kv_end) advance_work();
  }

  /// Where token `row` of the current tile lies: its page's number is a load in flight, not yet waited for.
  struct Row {
    std::int32_t page = -1;
    std::int32_t in_page = 0;
  };
  [[nodiscard]] MLA_DEVICE Row locate(int row) const {
    const std::int32_t token = position_ + row;
    if (done() || token >= current_.kv_end) return {};
    const std::int32_t page = token >> arguments_.log2_page_size;
    const RaggedBatchView& batch = arguments_.inputs.batch;
    return {Arch::load(batch.kv_indices + current_.first_page + page), token & ((1 << arguments_.log2_page_size) - 1)};
  }

  /// The same of the nearest token of the work: there must be a current tile.
  [[nodiscard]] MLA_DEVICE Row locate_nearest(int row) const {
    const std::int32_t token = nearest_token(row);
    return {page_of(token), token & ((1 << arguments_.log2_page_size) - 1)};
  }

  /// For kernels that copy whole tiles only: token `row` of the current tile, or the work's last token past its end. It
  /// is finite where the work's own tokens are, and no row of q sees it a second time. There must be a current tile.
  [[nodiscard]] MLA_DEVICE std::int32_t nearest_token(int row) const {
    const std::int32_t token = position_ + row;
    return token < current_.kv_end ? token : current_.kv_end - 1;
  }
  [[nodiscard]] MLA_DEVICE std::int32_t page_of(std::int32_t token) const {
    // A 32-bit byte offset is part of a scalar load; a 64-bit address each would take twice the registers.
    const auto bytes = (static_cast<std::uint32_t>(token) >> arguments_.log2_page_size) * 4U;
    const auto* first = reinterpret_cast<const std::byte*>(arguments_.inputs.batch.kv_indices + current_.first_page);
    return Arch::load(reinterpret_cast<const std::int32_t*>(first + bytes));
  }
  [[nodiscard]] MLA_DEVICE const std::byte* address_of(std::int32_t page, std::int32_t token) const {
    const PagedKvView& kv = arguments_.inputs.kv;
    const std::int32_t in_page = token & ((1 << arguments_.log2_page_size) - 1);
    const std::int64_t element = page * kv.page_stride + in_page * kv.token_stride;
    return static_cast<const std::byte*>(kv.data) + element * size_in_bytes(kv.dtype);
  }

  [[nodiscard]] MLA_DEVICE const std::byte* address(const Row& row) const {
    return row.page < 0 ? nullptr : address_of(row.page, row.in_page);
  }

 private:
  struct Range {
    std::int32_t work = -1;
    std::int32_t kv_begin = 0;
    std::int32_t kv_end = 0;
    std::int32_t first_page = 0;
  };

  // The next work that has tokens, or work -1.
  MLA_DEVICE Range fetch() {
    while (upcoming_ < end_) {
      const std::int32_t index = upcoming_++;
      const Work* work = arguments_.plan.works + index;
      const std::int32_t kv_begin = Arch::load(&work->kv_begin);
      const std::int32_t kv_end = Arch::load(&work->kv_end);
      if (kv_begin >= kv_end) continue;
      return {index, kv_begin, kv_end, Arch::load(&work->first_page)};
    }
    return {};
  }

  MLA_DEVICE void advance_work() {
    current_ = next_;
    position_ = current_.kv_begin;
    next_ = fetch();
  }

  const DecodeArguments& arguments_;
  std::int32_t upcoming_;
  std::int32_t end_;
  Range current_;
  Range next_;
  std::int32_t position_ = 0;
};

}  // namespace mla
