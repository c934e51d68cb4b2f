// Decode for tiles of 64 query rows on Hopper, and of 128 by a cluster of two workgroups: warpgroup matrix products of
// bf16, or of e4m3 as f16.
//
// The two workgroups of a cluster work on the same KV with 64 rows each. Of bf16 KV each copies half of every block, to
// both: at 128 heads the traffic from the level-2 cache is the limit otherwise (86 % of its peak at 16k x 128 on an
// H200, while the tensor cores were busy 66 % of the time). Of e4m3, half as large, each takes all.
//
// Two compute warpgroups hold the 64x512 output between them, 256 columns each, because in float32 it is half of the
// register file. They take the KV in pairs of 64-token blocks: warpgroup 0 makes the scores and P of block 0, warpgroup
// 1 of block 1, and each multiplies both P with its half of the columns, its own P from registers. FlashMLA describes
// this division in its deep dive of April 2025; the order here differs: both take block 0 first, so that its place is
// refilled while block 1 is in use, and warpgroup 1 runs about one product behind, its softmax beside the other's
// products.
//
// Beside them a warpgroup copies, and where KV is e4m3 another makes f16 of it: one alone did both in more time than
// the products take (it needs more registers than are left to it, and 36 fences a pair of blocks), so that all waited
// for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/wgmma.hpp"
#include "kernels/arch/sm90/wide_copies.hpp"
#include "kernels/arch/sm90/wide_fp8_conversion.hpp"
#include "kernels/arch/sm90/wide_fp8_copies.hpp"
#include "kernels/arch/sm90/wide_places.hpp"
#include "kernels/decode/arguments.hpp"
#include "kernels/decode/launch.hpp"
#include "kernels/decode/split_merge.hpp"
#include "kernels/decode/tile_stream.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

/// `kWorkgroups`: of a worker, one or two. q and KV are of one type.
template <int kWorkgroups, DataType kType>
class WideDecodeKernel {
  using Places = WidePlaces<kWorkgroups, kType>;
  static constexpr bool kFp8 = Places::kFp8;

 public:
  using Arguments = WideArguments;
  static constexpr int kWorkgroupsPerWorker = kWorkgroups;
  static constexpr int kRows = Places::kRows * kWorkgroups;
  static constexpr DataType kProbabilityType = DataType::bf16;  // f16 is finer, but for its range
  static constexpr float kProbabilityFloor = kFp8 ? kF16ProbabilityFloor : 0;
  /// Works begin at multiples of it. A box of the tensor map that began elsewhere would cross the end of its page.
  static constexpr int kCutTokens = Places::kTokens;
  static_assert(kCutTokens % kKvBoxTokens == 0);
  static constexpr int kThreads = kFp8 ? 512 : 384;
  static constexpr int kSharedBytes = Places::kSharedBytes;

  static MLA_DEVICE void run(const WideArguments& arguments) {
    WideDecodeKernel kernel(arguments, Arch::shared_memory());
    Places::meet();
    if constexpr (kFp8) {
      kernel.run_fp8(Arch::wave() / 4);
    } else {
      kernel.run_bf16(Arch::wave() / 4);
    }
    // The other workgroup of the cluster may still arrive at this one's barriers.
    if constexpr (kWorkgroups > 1) Places::meet();
  }

 private:
  static constexpr int kProbabilityExponent = kFp8 ? kF16ProbabilityExponent : 0;
  static constexpr int kTokens = Places::kTokens;
  static constexpr int kOwnRows = Places::kRows;
  static constexpr int kSubtiles = Places::kSubtiles;
  static constexpr int kSubtileBytes = Places::kSubtileBytes;
  static constexpr int kRopeSubtile = Places::kRopeSubtile;
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

  MLA_DEVICE WideDecodeKernel(const WideArguments& arguments, std::byte* memory)
      : arguments_(arguments),
        memory_(memory),
        rows_(reinterpret_cast<float*>(memory + Places::kRowOffset)),
        places_{shared_address(memory), Arch::workgroup() % kWorkgroups},
        parts_(reinterpret_cast<SplitPart*>(memory + Places::kPartOffset)) {
    if (threadIdx.x != 0) return;
    places_.init(arguments.has_map);
    if (arguments.has_map) prefetch_map(&arguments.kv_map);
  }

  // Each warpgroup takes its part with the registers that it needs; together they have all there are.
  MLA_DEVICE void run_bf16(int warpgroup) {
    if (warpgroup == 2) {
      keep_registers<40>();
      WideCopies<kWorkgroups>(arguments_, places_).run();
    } else {
      take_registers<232>();
      compute(warpgroup);
    }
  }
  MLA_DEVICE void run_fp8(int warpgroup) {
    if (warpgroup == 3) {
      keep_registers<24>();
      WideFp8Copies<kWorkgroups>(arguments_, places_).run();
    } else if (warpgroup == 2) {
      keep_registers<40>();
      WideFp8Conversion<kWorkgroups>(arguments_, places_).run();
    } else {
      take_registers<224>();
      compute(warpgroup);
    }
  }

  // ---- compute -------------------------------------------------------------------------------------------------

  MLA_DEVICE void compute(int warpgroup) {
    // Read where it is used, by each role for itself: kept, it would take the registers of the accumulators.
    const WorkerStart own = Places::start(arguments_);
    parts_.template look_up<Arch>(arguments_, own);
    if (warpgroup == 0) {
      walk<0>(own.first_work, own.end_work);
    } else {
      walk<1>(own.first_work, own.end_work);
    }
    parts_.template merge<Arch, kRows, kWorkgroups>(arguments_, memory_, places_.member);
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
        if (places_.member == 0) write_empty<Arch>(arguments_, work);
        continue;
      }
      RowPair rows;
      find_limits(work, rows);
      float output[128];
#pragma unroll
      for (float& value : output) value = 0;
      mbarrier_wait(places_.query_landed(), static_cast<std::uint32_t>(queries++) & 1U);
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
      const int token = (work.row_begin + places_.first_row() + row_of_lane() + 8 * i) / arguments_.inputs.heads;
      const int visible = visible_tokens(work, token, arguments_.inputs.causal);
      rows.limit[i] = visible < work.kv_end ? visible : work.kv_end;
    }
  }

  // Starts the scores of this warpgroup's block, subtile by subtile in the order in which they are copied.
  template <int kHalf>
  MLA_DEVICE void start_scores(int pair, float (&scores)[32]) const {
    std::uint32_t query[2][4][4];  // of e4m3: of the subtile that is multiplied and of the next
    if constexpr (!kFp8) wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSubtiles; ++i) {
      const int index = kHalf == 0 || i == kRopeSubtile ? i : (i + 4) % kRopeSubtile;
      if constexpr (kFp8) {
        if (i > 1) wgmma_wait<1>();
        load_query(index, query[i % 2]);
      }
      await_subtile(kHalf, index, static_cast<std::uint32_t>(pair) & 1U);
      const std::uint64_t keys = rows_descriptor(places_.subtile(kHalf, index));
      if constexpr (kFp8) {
        wgmma_fence();
        multiply_subtile(query[i % 2], keys, scores, i > 0);
        wgmma_commit();
      } else {
        multiply_subtile(rows_descriptor(places_.query() + index * kSubtileBytes), keys, scores, i > 0);
      }
    }
    if constexpr (!kFp8) wgmma_commit();
  }

  MLA_DEVICE void await_subtile(int block, int index, std::uint32_t parity) const {
    mbarrier_wait(places_.landed(block, index), parity);
    if (kFp8 || !arguments_.has_map) fence_async_proxy();
  }

  // This lane's share of q as the left operand of a subtile's four products, see wide_fp8_conversion.hpp.
  MLA_DEVICE void load_query(int index, std::uint32_t (&query)[4][4]) const {
    const std::byte* row = memory_ + Places::kQueryOffset + row_of_lane() * Places::kQueryPitch +
                           static_cast<int>(threadIdx.x) % 4 * 4 + index * 64;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const auto word = *reinterpret_cast<const std::uint32_t*>(row + i * 8 * Places::kQueryPitch + step * 16);
        query[step][i] = f16x2_from_low(word);
        query[step][2 + i] = f16x2_from_high(word);
      }
    }
  }

  static MLA_DEVICE void multiply_subtile(std::uint64_t query, std::uint64_t keys, float (&scores)[32], bool add) {
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma_scores(scores, query + step * 2, keys + step * 2, add || step > 0);
  }
  static MLA_DEVICE void multiply_subtile(const std::uint32_t (&query)[4][4], std::uint64_t keys, float (&scores)[32],
                                          bool add) {
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma_scores(scores, query[step], keys + step * 2, add || step > 0);
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
      const float reference = finite(maximum[i]) - kProbabilityExponent;
      float added = 0;
#pragma unroll
      for (int tile = 0; tile < 8; ++tile) {
        float* s = scores + tile * 4 + i * 2;
        s[0] = Arch::exp2(s[0] - reference);
        s[1] = Arch::exp2(s[1] - reference);
        added += s[0] + s[1];
        p[tile / 2][tile % 2 * 2 + i] = kFp8 ? f16x2(s[0], s[1]) : bf16x2(s[0], s[1]);
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
    std::byte* to = memory_ + block * Places::kBlockBytes + kRopeSubtile * kSubtileBytes;
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

  // A place is free when it is so in every workgroup that is copied to.
  MLA_DEVICE void release(WideGroup group) const {
    mbarrier_arrive(places_.empty(group));
    if constexpr (Places::kSharers > 1) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive_at(places_.empty(group), 1 - places_.member);
    }
  }

  // Makes the values past the work's last token zero in this warpgroup's columns: 0 * NaN would reach every output.
  // Scores there are masked, so it does not matter what the products with the keys read meanwhile.
  template <int kHalf>
  MLA_DEVICE void clear_tail(int block, int begin, int kv_end) const {
    const int end = kv_end - begin - block * kTokens;
    if (end >= kTokens) return;
    const int lane = static_cast<int>(threadIdx.x) % 128;
    std::byte* to = memory_ + block * Places::kBlockBytes + (kHalf * 4 + lane % 32 / 8) * kSubtileBytes + lane % 8 * 16;
    for (int row = (end > 0 ? end : 0) + lane / 32; row < kTokens; row += 4) {
      *reinterpret_cast<uint4*>(to + row * 128) = uint4{0, 0, 0, 0};
    }
    fence_async_proxy();
    // Named barrier 1 is that of both warpgroups.
    warpgroup_barrier<2 + kHalf>();
  }

  MLA_DEVICE void multiply_own(int block, int half, const std::uint32_t (&p)[4][4], float (&output)[128]) const {
    const std::uint64_t values = columns_descriptor(places_.subtile(block, half * 4), kSubtileBytes);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) multiply_step(p[step], values + step * (2048 / 16), output);
    wgmma_commit();
  }
  MLA_DEVICE void multiply_other(int block, int half, float (&output)[128]) const {
    const std::uint64_t p = rows_descriptor(places_.subtile(block, kRopeSubtile));
    const std::uint64_t values = columns_descriptor(places_.subtile(block, half * 4), kSubtileBytes);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) multiply_step(p + step * 2, values + step * (2048 / 16), output);
    wgmma_commit();
  }
  // 16 tokens; `p` by descriptor or from registers.
  template <class P>
  static MLA_DEVICE void multiply_step(const P& p, std::uint64_t values, float (&output)[128]) {
    if constexpr (kFp8) {
      wgmma_output_f16(output, p, values);
      wgmma_output_f16(output + 64, p, values + 2 * kSubtileBytes / 16);
    } else {
      wgmma_output(output, p, values);
    }
  }

  MLA_DEVICE void first_half(int begin, int kv_end, bool last, int pair, RowPair& rows, float (&output)[128]) const {
    float scores[32];
    start_scores<0>(pair, scores);
    wgmma_wait<0>();
    if (last) mbarrier_arrive(places_.query_empty());
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
    mbarrier_arrive(places_.ready(0));
    shrink(output, before);
    if (last) clear_tail<0>(0, begin, kv_end);
    multiply_own(0, 0, p, output);
    // Here and not where the result is needed: the copy into this place takes longer than anything else.
    wgmma_wait<0>();
    release(kLeft0);

    mbarrier_wait(places_.ready(1), static_cast<std::uint32_t>(pair) & 1U);
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
    mbarrier_wait(places_.ready(0), static_cast<std::uint32_t>(pair) & 1U);
    float first[2];
    get_maximum(0, first);
    const float before[2] = {Arch::exp2(rows.maximum[0] - finite(first[0])),
                             Arch::exp2(rows.maximum[1] - finite(first[1]))};
    shrink_sums(rows, before);
    shrink(output, before);
    if (last) clear_tail<1>(0, begin, kv_end);
    multiply_other(0, 1, output);
    wgmma_wait<1>();
    if (last) mbarrier_arrive(places_.query_empty());
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
    mbarrier_arrive(places_.ready(1));
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
      if (places_.first_row() + row < work.row_count) write_row<kHalf>(work, row, i, rows.maximum[i], sum, output);
    }
    // The next work's sums go to the same place.
    Arch::barrier();
  }

  template <int kHalf>
  MLA_DEVICE void write_row(const Work& work, int row, int i, float maximum, float sum,
                            const float (&output)[128]) const {
    const RowSink sink = row_sink(arguments_, work, places_.first_row() + row, kRows);
    const bool empty_row = maximum == kMinusInfinity;
    const float factor = empty_row ? 0.0F : arguments_.inputs.kv_scale / sum;
    const int lane = static_cast<int>(threadIdx.x) % 4;
    if (kHalf == 0 && lane == 0) {
      constexpr float kLn2 = 0.693147180559945309F;
      *sink.lse = empty_row ? kMinusInfinity : (maximum + (Arch::log2(sum) - kProbabilityExponent)) * kLn2;
    }
    if constexpr (kFp8) {
      // Two tiles together are 16 columns, of which the lane has four side by side.
#pragma unroll
      for (int tile = 0; tile < 32; tile += 2) {
        const float* first = output + tile * 4 + i * 2;
        const int column = kHalf * 256 + tile * 8 + lane * 4;
        write_columns(sink, column, first[0] * factor, first[1] * factor);
        write_columns(sink, column + 2, first[4] * factor, first[5] * factor);
      }
    } else {
#pragma unroll
      for (int tile = 0; tile < 32; ++tile) {
        const float* first = output + tile * 4 + i * 2;
        write_columns(sink, kHalf * 256 + tile * 8 + lane * 2, first[0] * factor, first[1] * factor);
      }
    }
  }
  static MLA_DEVICE void write_columns(const RowSink& sink, int column, float first, float second) {
    if (sink.partial != nullptr) {
      *reinterpret_cast<float2*>(sink.partial + column) = float2{first, second};
    } else {
      *reinterpret_cast<std::uint32_t*>(sink.direct + column) = bf16x2(first, second);
    }
  }

  const WideArguments& arguments_;
  std::byte* memory_;
  float* rows_;
  Places places_;
  SplitParts parts_;
};

}  // namespace mla::sm90

namespace mla {

template <DataType kType>
requires(kType == DataType::bf16 || kType == DataType::e4m3fn) struct WideDecode<sm90::Arch, kType, kType, 64> {
  using Kernel = sm90::WideDecodeKernel<1, kType>;
};
template <DataType kType>
requires(kType == DataType::bf16 || kType == DataType::e4m3fn) struct WideDecode<sm90::Arch, kType, kType, 128> {
  using Kernel = sm90::WideDecodeKernel<2, kType>;
};

}  // namespace mla
