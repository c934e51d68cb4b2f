// How KV and q reach shared memory where the waves that compute also start the copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode/arguments.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

/// Every wave copies its share of the rows of a tile. The barrier that makes a landed tile known to all waves also
/// tells that all of them have done with the tile before, whose place then takes the tile furthest ahead.
template <class Arch, class Traits>
class OwnCopies {
 public:
  static constexpr int kStages = Traits::kStages;

  /// All lanes of the workgroup. Starts the first q and all tiles but one that fit.
  MLA_DEVICE OwnCopies(const DecodeArguments& arguments, const WorkerStart& start, std::byte* tiles, std::byte* query,
                       std::byte* /*shared*/)
      : arguments_(arguments),
        tiles_(tiles),
        query_(query),
        end_work_(start.end_work),
        query_work_(start.first_work),
        stream_(arguments, start) {
    start_query();
    MLA_NO_UNROLL
    for (int i = 0; i < kAhead; ++i) start_tile(look_up_pages());
  }

  MLA_DEVICE const std::byte* wait_query() {
    TileCopies::template await<kAhead>(since_query_);
    Arch::barrier();
    return query_;
  }
  /// The next q must wait for the next barrier: other waves may still read this one.
  MLA_DEVICE void release_query() { query_is_free_ = true; }

  MLA_DEVICE const std::byte* wait_tile() {
    const Pages pages = look_up_pages();
    TileCopies::template await<kAhead - 1>(ahead_ - 1);
    Arch::barrier();
    if (query_is_free_) start_query();
    start_tile(pages);
    return tiles_ + stage_ * Traits::kTileBytes;
  }
  MLA_DEVICE void release_tile() {
    --ahead_;
    stage_ = next(stage_);
  }

 private:
  static constexpr int kAhead = kStages - 1;
  using TileCopies = typename Arch::template RowCopies<typename Traits::KvLayout, Traits::kTokens>;
  using QueryCopies = typename Arch::template RowCopies<typename Traits::QueryLayout, Traits::kRows>;
  using Stream = TileStream<Arch, Traits::kTokens>;

  static MLA_DEVICE int next(int stage) { return stage + 1 < kStages ? stage + 1 : 0; }

  struct Pages {
    std::int32_t v[TileCopies::kOwn];
  };

  // Page numbers of the tile that is started next: loads under way, best while something else is waited for. Kept for
  // longer, they would take the scalar registers that everything else needs.
  MLA_DEVICE Pages look_up_pages() const {
    Pages pages = {};
    if (stream_.done()) return pages;
#pragma unroll
    for (int i = 0; i < TileCopies::kOwn; ++i) {
      pages.v[i] = stream_.page_of(stream_.nearest_token(TileCopies::first_row() + i));
    }
    return pages;
  }

  MLA_DEVICE void start_tile(const Pages& pages) {
    if (stream_.done()) return;
    const std::int32_t page = TileCopies::deal(pages.v);
    TileCopies::start(tiles_ + start_stage_ * Traits::kTileBytes,
                      stream_.address_of(page, stream_.nearest_token(TileCopies::row())));
    ++ahead_;
    ++since_query_;
    start_stage_ = next(start_stage_);
    stream_.advance();
  }

  // Of the next work that has tokens.
  MLA_DEVICE void start_query() {
    query_is_free_ = false;
    while (query_work_ < end_work_ && !has_tokens(query_work_)) ++query_work_;
    if (query_work_ >= end_work_) return;
    QueryCopies::start(query_, query_address<Arch>(arguments_, query_work_, QueryCopies::row()));
    since_query_ = 0;
    ++query_work_;
  }

  MLA_DEVICE bool has_tokens(int index) const {
    const Work* work = arguments_.plan.works + index;
    return Arch::load(&work->kv_begin) < Arch::load(&work->kv_end);
  }

  const DecodeArguments& arguments_;
  std::byte* tiles_;
  std::byte* query_;
  int end_work_;
  int query_work_;  // whose q is started next
  Stream stream_;   // at the tile that is started next
  bool query_is_free_ = false;
  int ahead_ = 0;        // tiles started and not yet handed back
  int since_query_ = 0;  // tiles started after the last q
  int stage_ = 0;        // of the tile at hand
  int start_stage_ = 0;  // of the tile that is started next
};

}  // namespace mla
