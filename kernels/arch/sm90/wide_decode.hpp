// Decode for tiles of 64 query rows on Hopper: bf16, warpgroup matrix products.
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
#include "kernels/arch/sm90/wgmma.hpp"
#include "kernels/decode/arguments.hpp"
#include "kernels/decode/launch.hpp"
#include "kernels/decode/split_merge.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

class WideDecodeKernel {
 public:
  using Arguments = DecodeArguments;
  static constexpr int kRows = 64;
  static constexpr DataType kProbabilityType = DataType::bf16;
  static constexpr int kTokens = 64;
  static constexpr int kThreads = 384;

 private:
  static constexpr int kSubtiles = kHeadDim / 64;      // of 64 dims
  static constexpr int kSubtileBytes = kTokens * 128;  // [64 rows][64 dims], swizzled
  static constexpr int kBlockBytes = kSubtiles * kSubtileBytes;
  static constexpr int kRopeSubtile = kSubtiles - 1;
  static constexpr int kQueryOffset = 2 * kBlockBytes;
  static constexpr int kRowOffset =
      kQueryOffset + kBlockBytes;  // float [4][64]: maximum of block 0, 1; sum of each half
  static constexpr int kPartOffset = kRowOffset + 4 * kRows * 4;
  static constexpr int kBarrierOffset = kPartOffset + 2 * static_cast<int>(sizeof(SplitPart));
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

  // mbarriers: full and empty of the four copy groups, full and empty of q.
  enum Group { kLeft0, kRight0, kLeft1, kRight1, kQuery, kGroups };

 public:
  static constexpr int kSharedBytes = kBarrierOffset + kGroups * 16;
  static_assert(kSharedBytes <= Arch::kSharedBytes);

  static MLA_DEVICE void run(const DecodeArguments& arguments) {
    WideDecodeKernel kernel(arguments, Arch::shared_memory());
    __syncthreads();
    const int warpgroup = Arch::wave() / 4;
    if (warpgroup == 2) {
      keep_registers<40>();
      kernel.copy_all();
      return;
    }
    take_registers<232>();
    kernel.parts_.template look_up<Arch>(arguments, kernel.first_work_, kernel.end_work_);
    if (warpgroup == 0) {
      kernel.walk<0>();
    } else {
      kernel.walk<1>();
    }
    kernel.parts_.template merge<Arch, kRows>(arguments, kernel.memory_);
  }

 private:
  MLA_DEVICE WideDecodeKernel(const DecodeArguments& arguments, std::byte* memory)
      : arguments_(arguments),
        memory_(memory),
        rows_(reinterpret_cast<float*>(memory + kRowOffset)),
        base_(shared_address(memory)),
        parts_(reinterpret_cast<SplitPart*>(memory + kPartOffset)),
        first_work_(Arch::load(arguments.plan.work_indptr + Arch::workgroup())),
        end_work_(Arch::load(arguments.plan.work_indptr + Arch::workgroup() + 1)) {
    if (threadIdx.x != 0) return;
    for (int group = 0; group < kGroups; ++group) {
      mbarrier_init(full(group), 128);
      mbarrier_init(empty(group), group == kQuery ? 8 : 4);
    }
    fence_barrier_init();
  }

  MLA_DEVICE std::uint32_t full(int group) const { return base_ + kBarrierOffset + group * 16; }
  MLA_DEVICE std::uint32_t empty(int group) const { return full(group) + 8; }
  MLA_DEVICE std::uint32_t subtile(int block, int index) const {
    return base_ + block * kBlockBytes + index * kSubtileBytes;
  }

  // ---- copies
  // -------------------------------------------------------------------------------------------------------- 128 lanes,
  // eight to a row of 128 bytes, each with rows lane / 8 + 16 i of every subtile. The eight hold the addresses of their
  // four rows between them, one a lane, because registers are dear here.

  static constexpr int kRowsPerLane = 4;
  using Stream = TileStream<Arch, 2 * kTokens>;

  static MLA_DEVICE int copy_lane() { return static_cast<int>(threadIdx.x) % 128; }
  static MLA_DEVICE int own_row() { return copy_lane() / 8 + 16 * (copy_lane() % kRowsPerLane); }

  // This lane's rows of a pair of blocks; null past the end, which the copy fills with zeros so that 0 * P stays 0.
  struct Pair {
    const std::byte* blocks[2] = {nullptr, nullptr};
    int starts_work = -1;
    bool live = false;
  };

  MLA_DEVICE void copy_all() {
    Stream stream(arguments_, first_work_, end_work_);
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
    copy_arrive(full(group));
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
    copy_subtiles<0, kSubtiles, false>(base_ + kQueryOffset, query_address<Arch>(arguments_, work, own_row()));
    copy_arrive(full(kQuery));
  }

  // ---- compute
  // -------------------------------------------------------------------------------------------------------

  // Of a lane: rows g and g + 8 of its wave's 16, g = lane / 4.
  struct RowPair {
    int limit[2];
    float maximum[2] = {kMinusInfinity, kMinusInfinity};
    float sum[2] = {0, 0};
  };

  template <int kHalf>
  MLA_DEVICE void walk() {
    int pair = 0;
    int queries = 0;
    for (int index = first_work_; index < end_work_; ++index) {
      const Work work = Arch::load(arguments_.plan.works + index);
      if (work.kv_begin >= work.kv_end) {
        write_empty<Arch>(arguments_, work);
        continue;
      }
      RowPair rows;
      find_limits(work, rows);
      float output[128];
#pragma unroll
      for (float& value : output) value = 0;
      mbarrier_wait(full(kQuery), static_cast<std::uint32_t>(queries++) & 1U);
      fence_async_proxy();
      for (int begin = work.kv_begin; begin < work.kv_end; begin += 2 * kTokens, ++pair) {
        const bool last = begin + 2 * kTokens >= work.kv_end;
        if constexpr (kHalf == 0) {
          first_half(begin, last, pair, rows, output);
        } else {
          second_half(begin, last, pair, rows, output);
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
      const int token = (work.row_begin + row_of_lane() + 8 * i) / arguments_.inputs.heads;
      const int visible = visible_tokens(work, token, arguments_.inputs.causal);
      rows.limit[i] = visible < work.kv_end ? visible : work.kv_end;
    }
  }

  // Starts the scores of this warpgroup's block.
  template <int kHalf>
  MLA_DEVICE void start_scores(int pair, float (&scores)[32]) const {
    const auto parity = static_cast<std::uint32_t>(pair) & 1U;
    mbarrier_wait(full(kHalf == 0 ? kLeft0 : kRight1), parity);
    fence_async_proxy();
    wgmma_fence();
    multiply_subtiles<kHalf, kHalf * 4, kHalf * 4 + 4>(scores, true);
    mbarrier_wait(full(kHalf == 0 ? kRight0 : kLeft1), parity);
    fence_async_proxy();
    multiply_subtiles<kHalf, 4 - kHalf * 4, 8 - kHalf * 4>(scores, false);
    multiply_subtiles<kHalf, kRopeSubtile, kSubtiles>(scores, false);
    wgmma_commit();
  }

  template <int kBlock, int kBegin, int kEnd>
  MLA_DEVICE void multiply_subtiles(float (&scores)[32], bool first) const {
#pragma unroll
    for (int index = kBegin; index < kEnd; ++index) {
      const std::uint64_t query = rows_descriptor(base_ + kQueryOffset + index * kSubtileBytes);
      const std::uint64_t keys = rows_descriptor(subtile(kBlock, index));
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        wgmma_scores(scores, query + step * 2, keys + step * 2, !(first && index == kBegin && step == 0));
      }
    }
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
    rows_[block * kRows + row_of_lane()] = maximum[0];
    rows_[block * kRows + row_of_lane() + 8] = maximum[1];
  }
  MLA_DEVICE void get_maximum(int block, float (&maximum)[2]) const {
    maximum[0] = rows_[block * kRows + row_of_lane()];
    maximum[1] = rows_[block * kRows + row_of_lane() + 8];
  }

  MLA_DEVICE void release(int group) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(group));
  }

  // Named barriers: maximum and P of block 0 are ready, those of block 1 are.
  static constexpr int kBlock0 = 2;
  static constexpr int kBlock1 = 3;

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

  MLA_DEVICE void first_half(int begin, bool last, int pair, RowPair& rows, float (&output)[128]) const {
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
    named_arrive<kBlock0>();
    shrink(output, before);
    multiply_own(0, 0, p, output);

    named_wait<kBlock1>();
    get_maximum(1, rows.maximum);
    const float after[2] = {Arch::exp2(maximum[0] - finite(rows.maximum[0])),
                            Arch::exp2(maximum[1] - finite(rows.maximum[1]))};
    shrink_sums(rows, after);
    wgmma_wait<0>();
    release(kLeft0);
    shrink(output, after);
    multiply_other(1, 0, output);
    wgmma_wait<0>();
    release(kLeft1);
  }

  MLA_DEVICE void second_half(int begin, bool last, int pair, RowPair& rows, float (&output)[128]) const {
    float scores[32];
    start_scores<1>(pair, scores);
    named_wait<kBlock0>();
    float first[2];
    get_maximum(0, first);
    const float before[2] = {Arch::exp2(rows.maximum[0] - finite(first[0])),
                             Arch::exp2(rows.maximum[1] - finite(first[1]))};
    shrink_sums(rows, before);
    shrink(output, before);
    multiply_other(0, 1, output);
    wgmma_wait<1>();
    if (last) release(kQuery);
    mask(begin + kTokens, rows, scores, rows.maximum);
    rows.maximum[0] = fmaxf(first[0], rows.maximum[0]);
    rows.maximum[1] = fmaxf(first[1], rows.maximum[1]);
    set_maximum(1, rows.maximum);
    const float after[2] = {Arch::exp2(first[0] - finite(rows.maximum[0])),
                            Arch::exp2(first[1] - finite(rows.maximum[1]))};
    shrink_sums(rows, after);
    std::uint32_t p[4][4];
    make_probabilities(rows.maximum, scores, rows, p);
    share_probabilities(1, p);
    named_arrive<kBlock1>();
    wgmma_wait<0>();
    release(kRight0);
    shrink(output, after);
    multiply_own(1, 1, p, output);
    wgmma_wait<0>();
    release(kRight1);
  }

  // ---- results
  // -------------------------------------------------------------------------------------------------------

  template <int kHalf>
  MLA_DEVICE void write(const Work& work, RowPair& rows, const float (&output)[128]) const {
    float* sums = rows_ + 2 * kRows;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rows.sum[i] += Arch::shuffle_xor(rows.sum[i], 1);
      rows.sum[i] += Arch::shuffle_xor(rows.sum[i], 2);
      if (threadIdx.x % 4 == 0) sums[kHalf * kRows + row_of_lane() + 8 * i] = rows.sum[i];
    }
    Arch::barrier();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = row_of_lane() + 8 * i;
      const float sum = sums[row] + sums[kRows + row];
      if (row < work.row_count) write_row<kHalf>(work, row, i, rows.maximum[i], sum, output);
    }
    // The next work's sums go to the same place.
    Arch::barrier();
  }

  template <int kHalf>
  MLA_DEVICE void write_row(const Work& work, int row, int i, float maximum, float sum,
                            const float (&output)[128]) const {
    const RowSink sink = row_sink(arguments_, work, row, kRows);
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

  const DecodeArguments& arguments_;
  std::byte* memory_;
  float* rows_;
  std::uint32_t base_;
  SplitParts parts_;
  int first_work_;
  int end_work_;
};

}  // namespace mla::sm90

namespace mla {

template <>
struct WideDecode<sm90::Arch, DataType::bf16, DataType::bf16> {
  using Kernel = sm90::WideDecodeKernel;
};

}  // namespace mla
