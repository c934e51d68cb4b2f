// Decode for tiles of 64 query rows on Hopper, and of 128 by a cluster of two workgroups: bf16, warpgroup matrix
// products.
//
// The two workgroups of a cluster work on the same KV with 64 rows each. Each copies half of every block, to both: at
// 128 heads the traffic from the level-2 cache is the limit otherwise (86 % of its peak at 16k x 128 on an H200, while
// the tensor cores were busy 66 % of the time).
//
// Two compute warpgroups hold the 64x512 output between them, 256 columns each, because in float32 it is half of the
// register file. They take the KV in pairs of 64-token blocks: warpgroup 0 makes the scores and P of block 0, warpgroup
// 1 of block 1, and each multiplies both P with its half of the columns, its own P from registers. FlashMLA describes
// this division in its deep dive of April 2025; the order here differs: both take block 0 first, so that its place is
// refilled while block 1 is in use, and warpgroup 1 runs about one product behind, its softmax beside the other's
// products.
//
// Half a block's columns are one copy group, refilled when the warpgroup that uses them as values is done:
//   group          columns            values of
//   left, block 0  0-255              warpgroup 0
//   right, block 0 256-575            warpgroup 1; P of block 0 takes the place of columns 512-575, which are keys only
//   left, block 1  0-255, 512-575     warpgroup 0; P of block 1 likewise
//   right, block 1 256-511            warpgroup 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/kv_map.hpp"
#include "kernels/arch/sm90/wgmma.hpp"
#include "kernels/decode/arguments.hpp"
#include "kernels/decode/launch.hpp"
#include "kernels/decode/split_merge.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

/// `kWorkgroups`: of a worker, one or two.
template <int kWorkgroups>
class WideDecodeKernel {
 public:
  using Arguments = WideArguments;
  static constexpr int kWorkgroupsPerWorker = kWorkgroups;
  static constexpr int kOwnRows = 64;
  static constexpr int kRows = kOwnRows * kWorkgroups;
  static constexpr DataType kProbabilityType = DataType::bf16;
  static constexpr int kTokens = 64;
  /// Works begin at multiples of it. A box of the tensor map that began elsewhere would cross the end of its page.
  static constexpr int kCutTokens = kTokens;
  static_assert(kCutTokens % kKvBoxTokens == 0);
  static constexpr int kThreads = 384;

 private:
  static constexpr int kSubtiles = kHeadDim / 64;      // of 64 dims
  static constexpr int kSubtileBytes = kTokens * 128;  // [64 rows][64 dims], swizzled
  static constexpr int kBlockBytes = kSubtiles * kSubtileBytes;
  static constexpr int kRopeSubtile = kSubtiles - 1;
  static constexpr int kQueryOffset = 2 * kBlockBytes;
  static constexpr int kRowOffset =
      kQueryOffset + kBlockBytes;  // float [4][64]: maximum of block 0, 1; sum of each half
  static constexpr int kPartOffset = kRowOffset + 4 * kOwnRows * 4;
  static constexpr int kBarrierOffset = kPartOffset + 2 * static_cast<int>(sizeof(SplitPart));
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

  // mbarriers: the places of the four copy groups and of q are empty; q has landed; maximum and P of each block are
  // ready; each subtile has landed, so that the products with it need not wait for the rest of its group. Every lane
  // that reads or writes what a barrier guards arrives at it, but for the other workgroup's: racecheck sees no other
  // way.
  enum Group { kLeft0, kRight0, kLeft1, kRight1, kQuery, kGroups };
  static constexpr int kBarriers = kGroups + 3 + 2 * kSubtiles;

 public:
  static constexpr int kSharedBytes = kBarrierOffset + kBarriers * 8;
  static_assert(kSharedBytes <= Arch::kSharedBytes);

  static MLA_DEVICE void run(const WideArguments& arguments) {
    WideDecodeKernel kernel(arguments, Arch::shared_memory());
    meet();
    const int warpgroup = Arch::wave() / 4;
    if (warpgroup == 2) {
      keep_registers<40>();
      kernel.copy_all();
    } else {
      take_registers<232>();
      kernel.compute(warpgroup);
    }
    // The other workgroup of the cluster may still arrive at this one's barriers.
    if constexpr (kWorkgroups > 1) meet();
  }

 private:
  MLA_DEVICE WideDecodeKernel(const WideArguments& arguments, std::byte* memory)
      : arguments_(arguments),
        map_(&arguments.kv_map),
        memory_(memory),
        rows_(reinterpret_cast<float*>(memory + kRowOffset)),
        base_(shared_address(memory)),
        parts_(reinterpret_cast<SplitPart*>(memory + kPartOffset)),
        member_(Arch::workgroup() % kWorkgroups) {
    if (threadIdx.x != 0) return;
    for (int group = 0; group < kQuery; ++group) {
      mbarrier_init(empty(group), 128 + 4 * (kWorkgroups - 1));
    }
    mbarrier_init(empty(kQuery), 256);
    mbarrier_init(query_landed(), 128);
    mbarrier_init(ready(0), 128);
    mbarrier_init(ready(1), 128);
    for (int index = 0; index < kSubtiles; ++index) {
      mbarrier_init(landed(0, index), arguments.has_map ? 1 : 128);
      mbarrier_init(landed(1, index), arguments.has_map ? 1 : 128);
    }
    fence_barrier_init();
    if (arguments.has_map) prefetch_map(map_);
  }

  // Read where it is used, by each role for itself: kept, it would take the registers of the accumulators.
  MLA_DEVICE WorkerStart start() const { return Arch::load(arguments_.plan.starts + Arch::workgroup() / kWorkgroups); }

  /// All lanes of the worker.
  static MLA_DEVICE void meet() {
    if constexpr (kWorkgroups > 1) {
      cluster_arrive();
      cluster_wait();
    } else {
      __syncthreads();
    }
  }

  MLA_DEVICE std::uint32_t empty(int group) const { return base_ + kBarrierOffset + group * 8; }
  MLA_DEVICE std::uint32_t query_landed() const { return empty(kGroups); }
  MLA_DEVICE std::uint32_t ready(int block) const { return query_landed() + (1 + block) * 8; }
  MLA_DEVICE std::uint32_t landed(int block, int index) const { return ready(2) + (block * kSubtiles + index) * 8; }
  MLA_DEVICE std::uint32_t subtile(int block, int index) const {
    return base_ + block * kBlockBytes + index * kSubtileBytes;
  }

  // ---- copies --------------------------------------------------------------------------------------------------

  using Stream = TileStream<Arch, 2 * kTokens>;

  static MLA_DEVICE int copy_lane() { return static_cast<int>(threadIdx.x) % 128; }

  MLA_DEVICE void copy_all() {
    if (arguments_.has_map) {
      copy_boxes();
    } else {
      copy_rows();
    }
  }

  // ---- copies by tensor map: boxes of 64 dims x 32 tokens, so of pages of at least 32 tokens -----------------------

  // A pair of blocks is four boxes of tokens. Lane i holds the page of box i; of a cluster's two workgroups, each
  // copies its half of both blocks.
  struct BoxPair {
    typename Stream::Row at;
    int tokens = 0;  // of the pair, at least one
    int starts_work = -1;
    bool live = false;
  };
  static constexpr int kBoxTokens = kKvBoxTokens;
  static constexpr int kBoxBytes = kBoxTokens * 128;
  static constexpr int kBoxesPerBlock = kTokens / kBoxTokens;

  // All lanes of the copy warpgroup walk the works, because each copies its rows of q; its first warp copies the KV.
  MLA_DEVICE void copy_boxes() {
    Stream stream(arguments_, start());
    int queries = 0;
    BoxPair next = take_boxes(stream);
    for (int pair = 0; next.live; ++pair) {
      const BoxPair now = next;
      next = take_boxes(stream);
      if (now.starts_work >= 0) copy_query(now.starts_work, queries++);
      if (copy_lane() >= 32) continue;
      copy_box_group<0, 4, false>(kLeft0, 0, now, pair);
      copy_box_group<4, 9, false>(kRight0, 0, now, pair);
      copy_box_group<4, 8, false>(kRight1, 1, now, pair);
      copy_box_group<0, 4, true>(kLeft1, 1, now, pair);
    }
  }

  // Whether this lane copies a box of each pair: of a cluster's two workgroups, each has half of both blocks.
  MLA_DEVICE bool owns_box() const {
    return copy_lane() < 2 * kBoxesPerBlock && (kWorkgroups == 1 || copy_lane() % kBoxesPerBlock == member_);
  }

  static MLA_DEVICE BoxPair take_boxes(Stream& stream) {
    BoxPair pair;
    pair.live = !stream.done();
    if (!pair.live) return pair;
    if (stream.first()) pair.starts_work = stream.work();
    pair.tokens = stream.tokens_left();
    if (copy_lane() < 2 * kBoxesPerBlock) pair.at = stream.locate(copy_lane() * kBoxTokens);
    stream.advance();
    return pair;
  }

  template <int kBegin, int kEnd, bool kRope>
  MLA_DEVICE void copy_box_group(int group, int block, const BoxPair& pair, int use) const {
    if (use > 0) mbarrier_wait(empty(group), static_cast<std::uint32_t>(use - 1) & 1U);
    const int expected = kRope && copy_lane() == kEnd - kBegin ? kRopeSubtile : kBegin + copy_lane();
    if (copy_lane() < kEnd - kBegin + (kRope ? 1 : 0)) {
      const int boxes = (pair.tokens - block * kTokens + kBoxTokens - 1) / kBoxTokens;
      const int landing = boxes < 0 ? 0 : boxes < kBoxesPerBlock ? boxes : kBoxesPerBlock;
      mbarrier_arrive_expect(landed(block, expected), landing * kBoxBytes);
    }
    if (!owns_box() || copy_lane() / kBoxesPerBlock != block || pair.at.page < 0) return;
    const int box = copy_lane() % kBoxesPerBlock;
    const std::uint32_t to = base_ + block * kBlockBytes + box * kBoxBytes;
#pragma unroll
    for (int index = kBegin; index < kEnd; ++index) copy_subtile_box(to, block, index, pair.at);
    if constexpr (kRope) copy_subtile_box(to, block, kRopeSubtile, pair.at);
  }
  MLA_DEVICE void copy_subtile_box(std::uint32_t to, int block, int index, const typename Stream::Row& at) const {
    copy_box<kWorkgroups>(to + index * kSubtileBytes, map_, index * 64, at.in_page, at.page, landed(block, index));
  }

  // ---- copies by ordinary lanes: any page size; each workgroup of a cluster for itself
  // ---------------------------------
  //
  // Eight lanes to a row of 128 bytes, each with rows lane / 8 + 16 i of every subtile. The eight hold the addresses of
  // their four rows between them, one a lane, because registers are dear here.

  static constexpr int kRowsPerLane = 4;
  static MLA_DEVICE int own_row() {
    return copy_lane() / 8 + 16 * (copy_lane() % kRowsPerLane);
  }

  // This lane's rows of a pair of blocks; null past the end, which the copy fills with zeros so that 0 * P stays 0.
  struct Pair {
    const std::byte* blocks[2] = {nullptr, nullptr};
    int starts_work = -1;
    bool live = false;
  };

  MLA_DEVICE void copy_rows() {
    Stream stream(arguments_, start());
    typename Stream::Row located[2];
    locate(stream, located);
    int queries = 0;
    Pair now = take(stream, located);
    for (int pair = 0; now.live; ++pair) {
      const Pair next = take(stream, located);
      if (now.starts_work >= 0) copy_query(now.starts_work, queries++);
      copy_group<0, 4, false>(kLeft0, 0, now.blocks[0], pair);
      copy_group<4, 9, false>(kRight0, 0, now.blocks[0], pair);
      copy_group<4, 8, false>(kRight1, 1, now.blocks[1], pair);
      copy_group<0, 4, true>(kLeft1, 1, now.blocks[1], pair);
      now = next;
    }
  }

  static MLA_DEVICE void locate(const Stream& stream, typename Stream::Row (&located)[2]) {
    located[0] = stream.locate(own_row());
    located[1] = stream.locate(kTokens + own_row());
  }

  static MLA_DEVICE Pair take(Stream& stream, typename Stream::Row (&located)[2]) {
    Pair pair;
    pair.live = !stream.done();
    if (!pair.live) return pair;
    if (stream.first()) pair.starts_work = stream.work();
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      pair.blocks[block] = stream.address(located[block]);
    }
    stream.advance();
    locate(stream, located);
    return pair;
  }

  // Subtiles [kBegin, kEnd) of a block, and the rope subtile too where asked.
  template <int kBegin, int kEnd, bool kRope>
  MLA_DEVICE void copy_group(int group, int block, const std::byte* row, int use) const {
    if (use > 0) mbarrier_wait(empty(group), static_cast<std::uint32_t>(use - 1) & 1U);
    copy_subtiles<kBegin, kEnd, kRope>(base_ + block * kBlockBytes, row);
#pragma unroll
    for (int index = kBegin; index < kEnd; ++index) copy_arrive(landed(block, index));
    if constexpr (kRope) copy_arrive(landed(block, kRopeSubtile));
  }

  template <int kBegin, int kEnd, bool kRope>
  static MLA_DEVICE void copy_subtiles(std::uint32_t block, const std::byte* own) {
    const int unit = copy_lane() % 8;
#pragma unroll
    for (int i = 0; i < kRowsPerLane; ++i) {
      const auto raw = __shfl_sync(0xffffffffU, reinterpret_cast<std::uint64_t>(own), i, 8);
      const auto* row = reinterpret_cast<const std::byte*>(raw);
      const std::uint32_t to = block + swizzled(copy_lane() / 8 + 16 * i, unit);
#pragma unroll
      for (int index = kBegin; index < kEnd; ++index) {
        copy_16_or_zero(to + index * kSubtileBytes, row + index * 128 + unit * 16, row != nullptr);
      }
      if constexpr (kRope) {
        copy_16_or_zero(to + kRopeSubtile * kSubtileBytes, row + kRopeSubtile * 128 + unit * 16, row != nullptr);
      }
    }
  }

  MLA_DEVICE void copy_query(int work, int use) const {
    if (use > 0) mbarrier_wait(empty(kQuery), static_cast<std::uint32_t>(use - 1) & 1U);
    copy_subtiles<0, kSubtiles, false>(base_ + kQueryOffset,
                                       query_address<Arch>(arguments_, work, first_row() + own_row()));
    copy_arrive(query_landed());
  }

  // ---- compute -------------------------------------------------------------------------------------------------

  MLA_DEVICE void compute(int warpgroup) {
    const WorkerStart own = start();
    parts_.template look_up<Arch>(arguments_, own);
    if (warpgroup == 0) {
      walk<0>(own.first_work, own.end_work);
    } else {
      walk<1>(own.first_work, own.end_work);
    }
    parts_.template merge<Arch, kRows, kWorkgroups>(arguments_, memory_, member_);
  }

  // Of the tile, this workgroup's first.
  MLA_DEVICE int first_row() const {
    return member_ * kOwnRows;
  }

  // Of a lane: rows g and g + 8 of its wave's 16, g = lane / 4.
  struct RowPair {
    int limit[2];
    float maximum[2] = {kMinusInfinity, kMinusInfinity};
    float sum[2] = {0, 0};
  };

  template <int kHalf>
  MLA_DEVICE void walk(int first_work, int end_work) {
    int pair = 0;
    int queries = 0;
    for (int index = first_work; index < end_work; ++index) {
      const Work work = Arch::load(arguments_.plan.works + index);
      if (work.kv_begin >= work.kv_end) {
        if (member_ == 0) write_empty<Arch>(arguments_, work);
        continue;
      }
      RowPair rows;
      find_limits(work, rows);
      float output[128];
#pragma unroll
      for (float& value : output) value = 0;
      mbarrier_wait(query_landed(), static_cast<std::uint32_t>(queries++) & 1U);
      fence_async_proxy();
      for (int begin = work.kv_begin; begin < work.kv_end; begin += 2 * kTokens, ++pair) {
        const bool last = begin + 2 * kTokens >= work.kv_end;
        if constexpr (kHalf == 0) {
          first_half(begin, work.kv_end, last, pair, rows, output);
        } else {
          second_half(begin, work.kv_end, last, pair, rows, output);
        }
      }
      write<kHalf>(work, rows, output);
    }
  }

  static MLA_DEVICE int row_of_lane() {
    return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
  }

  MLA_DEVICE void find_limits(const Work& work, RowPair& rows) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = (work.row_begin + first_row() + row_of_lane() + 8 * i) / arguments_.inputs.heads;
      const int visible = visible_tokens(work, token, arguments_.inputs.causal);
      rows.limit[i] = visible < work.kv_end ? visible : work.kv_end;
    }
  }

  // Starts the scores of this warpgroup's block, subtile by subtile in the order in which they are copied.
  template <int kHalf>
  MLA_DEVICE void start_scores(int pair, float (&scores)[32]) const {
    const auto parity = static_cast<std::uint32_t>(pair) & 1U;
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      const int index = kHalf == 0 || i == kRopeSubtile ? i : (i + 4) % kRopeSubtile;
      mbarrier_wait(landed(kHalf, index), parity);
      if (!arguments_.has_map) fence_async_proxy();
      multiply_subtile<kHalf>(index, scores, i > 0);
    }
    wgmma_commit();
  }

  template <int kBlock>
  MLA_DEVICE void multiply_subtile(int index, float (&scores)[32], bool add) const {
    const std::uint64_t query = rows_descriptor(base_ + kQueryOffset + index * kSubtileBytes);
    const std::uint64_t keys = rows_descriptor(subtile(kBlock, index));
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma_scores(scores, query + step * 2, keys + step * 2, add || step > 0);
  }

  // Scales and masks, and finds the largest of the block in each row.
  MLA_DEVICE void mask(int begin, const RowPair& rows, float (&scores)[32], float (&largest)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = kMinusInfinity;
      const int limit = rows.limit[i] - begin - static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
      for (int tile = 0; tile < 8; ++tile) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& s = scores[tile * 4 + i * 2 + e];
          s = tile * 8 + e < limit ? s * arguments_.score_scale : kMinusInfinity;
          largest[i] = fmaxf(largest[i], s);
        }
      }
      largest[i] = fmaxf(largest[i], Arch::shuffle_xor(largest[i], 1));
      largest[i] = fmaxf(largest[i], Arch::shuffle_xor(largest[i], 2));
    }
  }

  static MLA_DEVICE float finite(float maximum) {
    return maximum == kMinusInfinity ? 0.0F : maximum;
  }

  // P of the block in registers, as the left operand of four products; adds to the sums.
  static MLA_DEVICE void make_probabilities(const float (&maximum)[2], float (&scores)[32], RowPair& rows,
                                            std::uint32_t (&p)[4][4]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float added = 0;
#pragma unroll
      for (int tile = 0; tile < 8; ++tile) {
        float* s = scores + tile * 4 + i * 2;
        s[0] = Arch::exp2(s[0] - finite(maximum[i]));
        s[1] = Arch::exp2(s[1] - finite(maximum[i]));
        added += s[0] + s[1];
        p[tile / 2][tile % 2 * 2 + i] = bf16x2(s[0], s[1]);
      }
      rows.sum[i] += added;
    }
  }

  static MLA_DEVICE void shrink(float (&output)[128], const float (&factor)[2]) {
    // The maximum settles after a few blocks: then this is 128 multiplications by one, between two products.
    if (!__any_sync(0xffffffffU, factor[0] != 1.0F || factor[1] != 1.0F)) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int tile = 0; tile < 32; ++tile) {
        output[tile * 4 + i * 2] *= factor[i];
        output[tile * 4 + i * 2 + 1] *= factor[i];
      }
    }
  }
  static MLA_DEVICE void shrink_sums(RowPair& rows, const float (&factor)[2]) {
    rows.sum[0] *= factor[0];
    rows.sum[1] *= factor[1];
  }

  // P to shared memory, for the other warpgroup: rows of 64 tokens.
  MLA_DEVICE void share_probabilities(int block, const std::uint32_t (&p)[4][4]) const {
    std::byte* to = memory_ + block * kBlockBytes + kRopeSubtile * kSubtileBytes;
    const int row = row_of_lane();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at = swizzled(row + e % 2 * 8, step * 2 + e / 2) + static_cast<int>(threadIdx.x) % 4 * 4;
        *reinterpret_cast<std::uint32_t*>(to + at) = p[step][e];
      }
    }
    fence_async_proxy();
  }

  MLA_DEVICE void set_maximum(int block, const float (&maximum)[2]) const {
    if (threadIdx.x % 4 != 0) return;
    rows_[block * kOwnRows + row_of_lane()] = maximum[0];
    rows_[block * kOwnRows + row_of_lane() + 8] = maximum[1];
  }
  MLA_DEVICE void get_maximum(int block, float (&maximum)[2]) const {
    maximum[0] = rows_[block * kOwnRows + row_of_lane()];
    maximum[1] = rows_[block * kOwnRows + row_of_lane() + 8];
  }

  // A place is free when it is so in every workgroup of the cluster: each may copy to all.
  MLA_DEVICE void release(int group) const {
    mbarrier_arrive(empty(group));
    if (kWorkgroups == 1 || group == kQuery) return;
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive_at(empty(group), 1 - member_);
  }

  // Makes the values past the work's last token zero in this warpgroup's columns: 0 * NaN would reach every output.
  // Scores there are masked, so it does not matter what the products with the keys read meanwhile.
  template <int kHalf>
  MLA_DEVICE void clear_tail(int block, int begin, int kv_end) const {
    const int end = kv_end - begin - block * kTokens;
    if (end >= kTokens) return;
    const int lane = static_cast<int>(threadIdx.x) % 128;
    std::byte* to = memory_ + block * kBlockBytes + (kHalf * 4 + lane % 32 / 8) * kSubtileBytes + lane % 8 * 16;
    for (int row = (end > 0 ? end : 0) + lane / 32; row < kTokens; row += 4) {
      *reinterpret_cast<uint4*>(to + row * 128) = uint4{0, 0, 0, 0};
    }
    fence_async_proxy();
    // Named barrier 1 is that of both warpgroups.
    warpgroup_barrier<2 + kHalf>();
  }

  MLA_DEVICE void multiply_own(int block, int half, const std::uint32_t (&p)[4][4], float (&output)[128]) const {
    const std::uint64_t values = columns_descriptor(subtile(block, half * 4), kSubtileBytes);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma_output(output, p[step], values + step * (2048 / 16));
    wgmma_commit();
  }
  MLA_DEVICE void multiply_other(int block, int half, float (&output)[128]) const {
    const std::uint64_t p = rows_descriptor(subtile(block, kRopeSubtile));
    const std::uint64_t values = columns_descriptor(subtile(block, half * 4), kSubtileBytes);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma_output(output, p + step * 2, values + step * (2048 / 16), true);
    wgmma_commit();
  }

  MLA_DEVICE void first_half(int begin, int kv_end, bool last, int pair, RowPair& rows, float (&output)[128]) const {
    float scores[32];
    start_scores<0>(pair, scores);
    wgmma_wait<0>();
    if (last) release(kQuery);
    float maximum[2];
    mask(begin, rows, scores, maximum);
    maximum[0] = fmaxf(rows.maximum[0], maximum[0]);
    maximum[1] = fmaxf(rows.maximum[1], maximum[1]);
    set_maximum(0, maximum);
    const float before[2] = {Arch::exp2(rows.maximum[0] - finite(maximum[0])),
                             Arch::exp2(rows.maximum[1] - finite(maximum[1]))};
    shrink_sums(rows, before);
    std::uint32_t p[4][4];
    make_probabilities(maximum, scores, rows, p);
    share_probabilities(0, p);
    mbarrier_arrive(ready(0));
    shrink(output, before);
    if (last) clear_tail<0>(0, begin, kv_end);
    multiply_own(0, 0, p, output);
    // Here and not where the result is needed: the copy into this place takes longer than anything else.
    wgmma_wait<0>();
    release(kLeft0);

    mbarrier_wait(ready(1), static_cast<std::uint32_t>(pair) & 1U);
    get_maximum(1, rows.maximum);
    const float after[2] = {Arch::exp2(maximum[0] - finite(rows.maximum[0])),
                            Arch::exp2(maximum[1] - finite(rows.maximum[1]))};
    shrink_sums(rows, after);
    shrink(output, after);
    if (last) clear_tail<0>(1, begin, kv_end);
    multiply_other(1, 0, output);
    wgmma_wait<0>();
    release(kLeft1);
  }

  MLA_DEVICE void second_half(int begin, int kv_end, bool last, int pair, RowPair& rows, float (&output)[128]) const {
    float scores[32];
    start_scores<1>(pair, scores);
    mbarrier_wait(ready(0), static_cast<std::uint32_t>(pair) & 1U);
    float first[2];
    get_maximum(0, first);
    const float before[2] = {Arch::exp2(rows.maximum[0] - finite(first[0])),
                             Arch::exp2(rows.maximum[1] - finite(first[1]))};
    shrink_sums(rows, before);
    shrink(output, before);
    if (last) clear_tail<1>(0, begin, kv_end);
    multiply_other(0, 1, output);
    wgmma_wait<1>();
    if (last) release(kQuery);
    mask(begin + kTokens, rows, scores, rows.maximum);
    rows.maximum[0] = fmaxf(first[0], rows.maximum[0]);
    rows.maximum[1] = fmaxf(first[1], rows.maximum[1]);
    set_maximum(1, rows.maximum);
    wgmma_wait<0>();
    release(kRight0);
    const float after[2] = {Arch::exp2(first[0] - finite(rows.maximum[0])),
                            Arch::exp2(first[1] - finite(rows.maximum[1]))};
    shrink_sums(rows, after);
    std::uint32_t p[4][4];
    make_probabilities(rows.maximum, scores, rows, p);
    share_probabilities(1, p);
    mbarrier_arrive(ready(1));
    shrink(output, after);
    if (last) clear_tail<1>(1, begin, kv_end);
    multiply_own(1, 1, p, output);
    wgmma_wait<0>();
    release(kRight1);
  }

  // ---- results -------------------------------------------------------------------------------------------------

  template <int kHalf>
  MLA_DEVICE void write(const Work& work, RowPair& rows, const float (&output)[128]) const {
    float* sums = rows_ + 2 * kOwnRows;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rows.sum[i] += Arch::shuffle_xor(rows.sum[i], 1);
      rows.sum[i] += Arch::shuffle_xor(rows.sum[i], 2);
      if (threadIdx.x % 4 == 0) sums[kHalf * kOwnRows + row_of_lane() + 8 * i] = rows.sum[i];
    }
    Arch::barrier();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = row_of_lane() + 8 * i;
      const float sum = sums[row] + sums[kOwnRows + row];
      if (first_row() + row < work.row_count) write_row<kHalf>(work, row, i, rows.maximum[i], sum, output);
    }
    // The next work's sums go to the same place.
    Arch::barrier();
  }

  template <int kHalf>
  MLA_DEVICE void write_row(const Work& work, int row, int i, float maximum, float sum,
                            const float (&output)[128]) const {
    const RowSink sink = row_sink(arguments_, work, first_row() + row, kRows);
    const bool empty_row = maximum == kMinusInfinity;
    const float factor = empty_row ? 0.0F : arguments_.inputs.kv_scale / sum;
    const int lane = static_cast<int>(threadIdx.x) % 4;
    if (kHalf == 0 && lane == 0) {
      constexpr float kLn2 = 0.693147180559945309F;
      *sink.lse = empty_row ? kMinusInfinity : (maximum + Arch::log2(sum)) * kLn2;
    }
#pragma unroll
    for (int tile = 0; tile < 32; ++tile) {
      const int column = kHalf * 256 + tile * 8 + lane * 2;
      const float first = output[tile * 4 + i * 2] * factor;
      const float second = output[tile * 4 + i * 2 + 1] * factor;
      if (sink.partial != nullptr) {
        *reinterpret_cast<float2*>(sink.partial + column) = float2{first, second};
      } else {
        *reinterpret_cast<std::uint32_t*>(sink.direct + column) = bf16x2(first, second);
      }
    }
  }

  const WideArguments& arguments_;
  const CUtensorMap* map_;
  std::byte* memory_;
  float* rows_;
  std::uint32_t base_;
  SplitParts parts_;
  int member_;  // of the cluster
};

}  // namespace mla::sm90

namespace mla {

template <>
struct WideDecode<sm90::Arch, DataType::bf16, DataType::bf16, 64> {
  using Kernel = sm90::WideDecodeKernel<1>;
};
template <>
struct WideDecode<sm90::Arch, DataType::bf16, DataType::bf16, 128> {
  using Kernel = sm90::WideDecodeKernel<2>;
};

}  // namespace mla
