// How KV and q reach shared memory where the target gives copies waves of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode/arguments.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla {

/// The compute waves' side: they wait for a tile, use it and hand its place back.
template <class Arch, class Traits>
class CopyWaves {
 public:
  static constexpr int kStages = Traits::kStages;
  using Pipeline = typename Arch::template Pipeline<kStages + 1>;
  static constexpr int kSharedBytes = Pipeline::kSharedBytes;

  /// All lanes of the workgroup.
  MLA_DEVICE CopyWaves(const DecodeArguments& arguments, const WorkerStart& /*start*/, std::byte* tiles,
                       std::byte* query, std::byte* shared)
      : arguments_(arguments), tiles_(tiles), query_(query), pipeline_(shared) {}

  MLA_DEVICE const std::byte* wait_query() {
    pipeline_.wait(kQuerySlot, queries_);
    return query_;
  }
  MLA_DEVICE void release_query() {
    pipeline_.release(kQuerySlot);
    ++queries_;
  }

  MLA_DEVICE const std::byte* wait_tile() const {
    pipeline_.wait(stage_, round_);
    return tiles_ + stage_ * Traits::kTileBytes;
  }
  MLA_DEVICE void release_tile() {
    pipeline_.release(stage_);
    next_stage();
  }

  /// The copy waves' side: all tiles of the worker in order, each work's q before its first tile.
  MLA_DEVICE void run(const WorkerStart& start) {
    const int row = Pipeline::template row<Traits::kTokens>();
    Stream stream(arguments_, start);
    Pending next[kAhead];
    look_ahead(stream, row, next);
    while (next[0].live) {
      Pending now[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) now[i] = next[i];
      look_ahead(stream, row, next);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (!now[i].live) continue;
        if (now[i].starts_work >= 0) start_query(now[i].starts_work);
        start_tile(stream.address(now[i].row));
      }
    }
    pipeline_.finish();
  }

 private:
  static constexpr int kQuerySlot = kStages;
  // Page numbers are loaded this many tiles at a time, and as many again before their use.
  static constexpr int kAhead = 4;
  using Stream = TileStream<Arch, Traits::kTokens>;

  struct Pending {
    typename Stream::Row row;
    int starts_work = -1;
    bool live = false;
  };

  static MLA_DEVICE void look_ahead(Stream& stream, int row, Pending (&pending)[kAhead]) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      pending[i].live = !stream.done();
      if (!pending[i].live) continue;
      pending[i].starts_work = stream.first() ? stream.work() : -1;
      pending[i].row = row >= 0 ? stream.locate_nearest(row) : typename Stream::Row{};
      stream.advance();
    }
  }

  MLA_DEVICE void start_query(int index) {
    const int row = Pipeline::template row<Traits::kRows>();
    const std::byte* address = row >= 0 ? query_address<Arch>(arguments_, index, row) : nullptr;
    pipeline_.acquire(kQuerySlot, queries_);
    pipeline_.template start<typename Traits::QueryLayout, Traits::kRows>(kQuerySlot, query_, address);
    ++queries_;
  }

  MLA_DEVICE void start_tile(const std::byte* address) {
    pipeline_.acquire(stage_, round_);
    pipeline_.template start<typename Traits::KvLayout, Traits::kTokens>(stage_, tiles_ + stage_ * Traits::kTileBytes,
                                                                         address);
    next_stage();
  }

  MLA_DEVICE void next_stage() {
    if (++stage_ < kStages) return;
    stage_ = 0;
    ++round_;
  }

  const DecodeArguments& arguments_;
  std::byte* tiles_;
  std::byte* query_;
  Pipeline pipeline_;
  int stage_ = 0;  // of the tile at hand
  int round_ = 0;  // how often the stage was used before
  int queries_ = 0;
};

}  // namespace mla
