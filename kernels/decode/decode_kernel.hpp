// The decode stage: persistent workers that walk the plan's works, one pass over the KV of each.
//
// A tile of KV tokens is copied to shared memory once and serves as K and, read transposed, as V. Per tile:
//   scores         the waves divide the tokens (and the dims, where there are more waves than token slices); float32
//                  scores go to shared memory
//   -- barrier A --
//   softmax        every row belongs to a few neighbouring lanes, which keep its maximum and sum in registers; P goes
//   to
//                  shared memory, with the factor by which the new maximum shrinks what was accumulated
//   -- barrier B --
//   output         the waves divide the 512 columns and accumulate P.V in registers
// Two barriers a tile are enough: scores, P and the copied tile are each written on one side of a barrier and read on
// the other, and the copy into a tile's place starts after the barrier A that follows its last reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/decode/arguments.hpp"
#include "kernels/decode/copy_waves.hpp"
#include "kernels/decode/own_copies.hpp"
#include "kernels/decode/split_merge.hpp"
#include "kernels/decode/tile_stages.hpp"
#include "kernels/decode/vector.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla {

/// Shapes and shared memory of one variant: all that can be known without running it.
template <class Arch, DataType kQuery, DataType kKv, int kTileRows>
struct DecodeTraits {
  using Matrix = typename Arch::template Matrix<kQuery, kKv>;
  using QueryLayout = typename Arch::template TileLayout<kHeadDim * size_in_bytes(kQuery)>;
  using KvLayout = typename Arch::template TileLayout<kHeadDim * size_in_bytes(kKv)>;

  static constexpr int kRows = kTileRows;
  static constexpr int kTokens = Arch::tile_tokens(kKv);
  static constexpr int kRowTiles = kRows / Arch::kRowTile;

  // Scores: wave = (row tile, slice of the tokens, part of the dims).
  static constexpr int kParts = Arch::key_parts(kRows, kKv);
  static constexpr int kSlices = Arch::kWaves / (kRowTiles * kParts);
  static constexpr int kTokenTilesPerWave = kTokens / (kSlices * Matrix::kScoreColumns);
  static constexpr int kDimsPerPart = kHeadDim / kParts;
  static constexpr int kKeySteps = kDimsPerPart / Matrix::kKeyDepth;
  static_assert(kRowTiles * kSlices * kParts == Arch::kWaves, "every wave computes scores");
  static_assert(kSlices * kTokenTilesPerWave * Matrix::kScoreColumns == kTokens);
  static_assert(kKeySteps * Matrix::kKeyDepth * kParts == kHeadDim);

  // Softmax: lanes of a row.
  static constexpr int kLanesPerRow = Arch::kThreads / kRows;
  static constexpr int kTokensPerLane = kTokens / kLanesPerRow;
  static_assert(kLanesPerRow <= 16 && kTokensPerLane >= 1);

  // Output: columns of a wave.
  static constexpr int kColumnsPerWave = kValueDim / Arch::kWaves;
  static constexpr int kColumnTiles = kColumnsPerWave / Matrix::kOutputColumns;
  static constexpr int kValueSteps = kTokens / Matrix::kValueDepth;

  // Eight floats of padding keep a wave's rows of scores in different banks; 16 bytes do so for P.
  static constexpr int kScorePitch = kTokens + 8;
  static constexpr int kProbabilityPitch = kTokens * static_cast<int>(sizeof(typename Matrix::Probability)) + 16;

  static constexpr int kTileBytes = kTokens * KvLayout::kPitch;
  static constexpr int kQueryBytes = kRows * QueryLayout::kPitch;
  static constexpr int kScoreBytes = kParts * kRows * kScorePitch * 4;
  static constexpr int kProbabilityBytes = kRows * kProbabilityPitch;
  static constexpr int kRowBytes = 3 * kRows * 4;  // shrink, inverse sum, query scale
  static constexpr int kPartBytes = 2 * sizeof(SplitPart);
  static constexpr int kMaxStages = kMaxTileStages<Arch, kKv>;
  static constexpr int kCopyBytes = Arch::template Pipeline<kMaxStages + 1>::kSharedBytes;
  static constexpr int kFixedBytes =
      kQueryBytes + kScoreBytes + kProbabilityBytes + kRowBytes + kPartBytes + kCopyBytes;
  static constexpr int kFittingStages = (Arch::kSharedBytes - kFixedBytes) / kTileBytes;
  static constexpr int kStages = kFittingStages < kMaxStages ? kFittingStages : kMaxStages;
  static_assert(kStages >= 2, "one tile in use, one in flight");

  static constexpr int kQueryOffset = kStages * kTileBytes;
  static constexpr int kScoreOffset = kQueryOffset + kQueryBytes;
  static constexpr int kProbabilityOffset = kScoreOffset + kScoreBytes;
  static constexpr int kRowOffset = kProbabilityOffset + kProbabilityBytes;
  static constexpr int kPartOffset = kRowOffset + kRowBytes;
  static constexpr int kCopyOffset = kPartOffset + kPartBytes;
  static constexpr int kSharedBytes = kCopyOffset + kCopyBytes;
};

template <class Arch, DataType kQuery, DataType kKv, int kTileRows>
class DecodeKernel {
 public:
  using Traits = DecodeTraits<Arch, kQuery, kKv, kTileRows>;
  using Arguments = DecodeArguments;
  static constexpr int kRows = kTileRows;
  /// Works may begin at multiples of it: a product of scores takes as many tokens, and a finer cut would compute most
  /// of them in vain.
  static constexpr int kCutTokens = 16;
  static_assert(kCutTokens % Traits::Matrix::kScoreColumns == 0 && Traits::kTokens % kCutTokens == 0);
  static constexpr DataType kProbabilityType = Traits::Matrix::kProbabilityType;
  static constexpr float kProbabilityFloor = Traits::Matrix::kProbabilityFloor;
  static constexpr int kThreads = Arch::kThreads + Arch::kCopyWaves * Arch::kWaveWidth;
  static constexpr int kSharedBytes = Traits::kSharedBytes;

  static MLA_DEVICE void run(const DecodeArguments& arguments) {
    std::byte* memory = Arch::shared_memory();
    DecodeKernel kernel(arguments, memory);
    Arch::barrier_all();
    if constexpr (Arch::kCopyWaves > 0) {
      if (kernel.wave_ >= Arch::kWaves) {
        Arch::enter_copy_role();
        kernel.copies_.run(kernel.start_);
        return;
      }
      Arch::enter_compute_role();
    }
    if constexpr (Arch::kCanAwait) kernel.parts_.template look_up<Arch>(arguments, kernel.start_);
    for (int work = kernel.start_.first_work; work < kernel.start_.end_work; ++work) kernel.run_work(work);
    if constexpr (Arch::kCanAwait) kernel.parts_.template merge<Arch, kRows>(arguments, memory);
  }

 private:
  using Matrix = typename Traits::Matrix;
  using QueryLayout = typename Traits::QueryLayout;
  using KvLayout = typename Traits::KvLayout;
  using Outputs = typename Matrix::Output[Traits::kRowTiles][Traits::kColumnTiles];

  static constexpr int kTokens = Traits::kTokens;
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

  MLA_DEVICE DecodeKernel(const DecodeArguments& arguments, std::byte* memory)
      : arguments_(arguments),
        scores_(reinterpret_cast<float*>(memory + Traits::kScoreOffset)),
        probabilities_(memory + Traits::kProbabilityOffset),
        shrink_(reinterpret_cast<float*>(memory + Traits::kRowOffset)),
        inverse_sum_(shrink_ + kRows),
        query_scale_(inverse_sum_ + kRows),
        parts_(reinterpret_cast<SplitPart*>(memory + Traits::kPartOffset)),
        start_(Arch::load(arguments.plan.starts + Arch::workgroup())),
        copies_(arguments, start_, memory, memory + Traits::kQueryOffset, memory + Traits::kCopyOffset),
        wave_(Arch::wave()) {}

  // ---- the walk ------------------------------------------------------------------------------------------------

  MLA_DEVICE void run_work(int index) {
    const Work work = Arch::load(arguments_.plan.works + index);
    if (work.kv_begin >= work.kv_end) {
      write_empty<Arch>(arguments_, work);
      return;
    }
    typename Matrix::Query query[Traits::kKeySteps];
    take_query(query);
    const RowState row = row_state(work);
    float maximum = kMinusInfinity;
    float sum = 0;
    Outputs output = {};
    for (int begin = work.kv_begin; begin < work.kv_end; begin += kTokens) {
      const std::byte* tile = copies_.wait_tile();
      compute_scores(query, tile);
      Arch::barrier();  // A
      update_softmax(row, begin, maximum, sum);
      if (begin + kTokens >= work.kv_end) finish_softmax(work, row, maximum, sum);
      Arch::barrier();  // B
      accumulate(output, tile);
      copies_.release_tile();
    }
    write_output(work, output);
  }

  // ---- scores --------------------------------------------------------------------------------------------------

  MLA_DEVICE int row_tile() const { return wave_ % Traits::kRowTiles * Arch::kRowTile; }
  MLA_DEVICE int token_slice() const {
    return wave_ / Traits::kRowTiles % Traits::kSlices * (Traits::kTokenTilesPerWave * Matrix::kScoreColumns);
  }
  MLA_DEVICE int part() const { return wave_ / (Traits::kRowTiles * Traits::kSlices); }

  MLA_DEVICE void take_query(typename Matrix::Query (&query)[Traits::kKeySteps]) {
    const std::byte* rows = copies_.wait_query();
    if constexpr (Matrix::kScalesQuery) find_query_scales(rows);
    const int dim = part() * Traits::kDimsPerPart;
#pragma unroll
    for (int step = 0; step < Traits::kKeySteps; ++step) {
      if constexpr (Matrix::kScalesQuery) {
        Matrix::load_query(query[step], rows, row_tile(), dim + step * Matrix::kKeyDepth, query_scale_);
      } else {
        Matrix::load_query(query[step], rows, row_tile(), dim + step * Matrix::kKeyDepth);
      }
    }
    copies_.release_query();
  }

  // The power of two that brings each row's largest magnitude to [2^13, 2^14): exact, and undone in the scores' scale.
  MLA_DEVICE void find_query_scales(const std::byte* rows) {
    constexpr int kLanes = Traits::kLanesPerRow;
    const int row = Arch::thread() / kLanes;
    const auto* elements = reinterpret_cast<const std::uint16_t*>(rows + row * QueryLayout::kPitch);
    int largest = 0;
    for (int i = Arch::thread() % kLanes; i < kHeadDim; i += kLanes) {
      const int magnitude = elements[i] & 0x7fff;
      largest = magnitude > largest ? magnitude : largest;
    }
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) {
      const int other = Arch::shuffle_xor(largest, mask);
      largest = other > largest ? other : largest;
    }
    // Exponent field e of the largest means [2^(e-127), 2^(e-126)); the scale is 2^(13 - (e - 127)), kept normal.
    const int exponent = largest >> 7;
    const int field = 127 + 13 - (exponent - 127);
    const int clamped = field > 254 ? 254 : field;
    if (Arch::thread() % kLanes == 0) query_scale_[row] = __builtin_bit_cast(float, clamped << 23);
    Arch::barrier();
  }

  MLA_DEVICE void compute_scores(const typename Matrix::Query (&query)[Traits::kKeySteps], const std::byte* tile) {
    typename Matrix::Scores scores[Traits::kTokenTilesPerWave] = {};
    const int dim = part() * Traits::kDimsPerPart;
#pragma unroll
    for (int step = 0; step < Traits::kKeySteps; ++step) {
#pragma unroll
      for (int t = 0; t < Traits::kTokenTilesPerWave; ++t) {
        typename Matrix::Key key;
        Matrix::load_key(key, tile, token_slice() + t * Matrix::kScoreColumns, dim + step * Matrix::kKeyDepth);
        Matrix::multiply(scores[t], query[step], key);
      }
    }
    float* base = scores_ + (part() * kRows + row_tile()) * Traits::kScorePitch + token_slice();
#pragma unroll
    for (int t = 0; t < Traits::kTokenTilesPerWave; ++t) {
#pragma unroll
      for (int v = 0; v < Matrix::kScoreVectors; ++v) {
        Vector<float, Matrix::kScoreWidth> values;
#pragma unroll
        for (int e = 0; e < Matrix::kScoreWidth; ++e) values.v[e] = Matrix::score(scores[t], v, e);
        float* to = base + Matrix::score_row(Arch::lane(), v) * Traits::kScorePitch + t * Matrix::kScoreColumns +
                    Matrix::score_column(Arch::lane(), v);
        *reinterpret_cast<Vector<float, Matrix::kScoreWidth>*>(to) = values;
      }
    }
  }

  // ---- softmax -------------------------------------------------------------------------------------------------

  // What the lanes of a row know about it for the whole of a work.
  struct RowState {
    int row;      // of the tile
    int column;   // this lane's first token in a tile
    int limit;    // tokens from here on are not seen
    float scale;  // of the scores, to powers of two
  };

  MLA_DEVICE RowState row_state(const Work& work) const {
    RowState state;
    state.row = Arch::thread() / Traits::kLanesPerRow;
    state.column = Arch::thread() % Traits::kLanesPerRow * Traits::kTokensPerLane;
    const int token = (work.row_begin + state.row) / arguments_.inputs.heads;
    const int visible = visible_tokens(work, token, arguments_.inputs.causal);
    state.limit = visible < work.kv_end ? visible : work.kv_end;
    state.scale = arguments_.score_scale;
    if constexpr (Matrix::kScalesQuery) state.scale /= query_scale_[state.row];
    return state;
  }

  MLA_DEVICE void update_softmax(const RowState& row, int begin, float& maximum, float& sum) {
    constexpr int kCount = Traits::kTokensPerLane;
    float s[kCount];
    load_scores(row, s);
    float highest = kMinusInfinity;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      s[i] = begin + row.column + i < row.limit ? s[i] * row.scale : kMinusInfinity;
      highest = s[i] > highest ? s[i] : highest;
    }
#pragma unroll
    for (int mask = Traits::kLanesPerRow / 2; mask > 0; mask /= 2) {
      const float other = Arch::shuffle_xor(highest, mask);
      highest = other > highest ? other : highest;
    }
    highest = highest > maximum ? highest : maximum;
    // A row that has seen nothing yet: any finite reference gives exp2(-inf) = 0 and not exp2(-inf + inf) = NaN.
    const float reference = highest == kMinusInfinity ? 0.0F : highest - Matrix::kProbabilityExponent;
    const float shrink = Arch::exp2(maximum - (highest == kMinusInfinity ? 0.0F : highest));
    float added = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      s[i] = Arch::exp2(s[i] - reference);
      added += s[i];
    }
    // Each lane sums its own tokens; the lanes' sums meet only at the end of the work.
    sum = sum * shrink + added;
    maximum = highest;
    auto* to = reinterpret_cast<typename Matrix::Probability*>(probabilities_ + row.row * Traits::kProbabilityPitch);
    Matrix::template store_probabilities<kCount>(to + row.column, s);
    if (row.column == 0) shrink_[row.row] = shrink;
  }

  MLA_DEVICE void load_scores(const RowState& row, float (&s)[Traits::kTokensPerLane]) const {
    using Run = Vector<float, Traits::kTokensPerLane % 4 == 0 ? 4 : Traits::kTokensPerLane % 2 == 0 ? 2 : 1>;
    constexpr int kRun = sizeof(Run) / sizeof(float);
#pragma unroll
    for (int i = 0; i < Traits::kTokensPerLane; i += kRun) {
      Run values = *reinterpret_cast<const Run*>(scores_ + row.row * Traits::kScorePitch + row.column + i);
#pragma unroll
      for (int p = 1; p < Traits::kParts; ++p) {
        const Run more =
            *reinterpret_cast<const Run*>(scores_ + (p * kRows + row.row) * Traits::kScorePitch + row.column + i);
#pragma unroll
        for (int e = 0; e < kRun; ++e) values.v[e] += more.v[e];
      }
#pragma unroll
      for (int e = 0; e < kRun; ++e) s[i + e] = values.v[e];
    }
  }

  // The row's sum over its lanes, its lse, and the factor that turns accumulated into final values.
  MLA_DEVICE void finish_softmax(const Work& work, const RowState& row, float maximum, float sum) {
#pragma unroll
    for (int mask = Traits::kLanesPerRow / 2; mask > 0; mask /= 2) sum += Arch::shuffle_xor(sum, mask);
    if (row.column != 0) return;
    constexpr float kLn2 = 0.693147180559945309F;
    const bool empty = maximum == kMinusInfinity;
    inverse_sum_[row.row] = empty ? 0.0F : arguments_.inputs.kv_scale / sum;
    const float lse = empty ? kMinusInfinity : (maximum + (Arch::log2(sum) - Matrix::kProbabilityExponent)) * kLn2;
    if (row.row < work.row_count) Arch::store(row_sink(arguments_, work, row.row, kRows).lse, lse);
  }

  // ---- output --------------------------------------------------------------------------------------------------

  MLA_DEVICE void accumulate(Outputs& output, const std::byte* tile) {
    shrink_outputs(output);
    const int column = wave_ * Traits::kColumnsPerWave;
#pragma unroll
    for (int step = 0; step < Traits::kValueSteps; ++step) {
      typename Matrix::Probabilities p[Traits::kRowTiles];
#pragma unroll
      for (int r = 0; r < Traits::kRowTiles; ++r) {
        Matrix::load_probabilities(p[r], probabilities_, Traits::kProbabilityPitch, r * Arch::kRowTile,
                                   step * Matrix::kValueDepth);
      }
#pragma unroll
      for (int c = 0; c < Traits::kColumnTiles; ++c) {
        typename Matrix::Values values;
        Matrix::load_values(values, tile, step * Matrix::kValueDepth, column + c * Matrix::kOutputColumns);
#pragma unroll
        for (int r = 0; r < Traits::kRowTiles; ++r) Matrix::multiply(output[r][c], p[r], values);
      }
    }
  }

  MLA_DEVICE void shrink_outputs(Outputs& output) const {
#pragma unroll
    for (int r = 0; r < Traits::kRowTiles; ++r) {
#pragma unroll
      for (int v = 0; v < Matrix::kOutputVectors; ++v) {
        const float shrink = shrink_[r * Arch::kRowTile + Matrix::output_row(Arch::lane(), v)];
#pragma unroll
        for (int c = 0; c < Traits::kColumnTiles; ++c) {
#pragma unroll
          for (int e = 0; e < Matrix::kOutputWidth; ++e) Matrix::output(output[r][c], v, e) *= shrink;
        }
      }
    }
  }

  MLA_DEVICE void write_output(const Work& work, Outputs& output) const {
    const int column = wave_ * Traits::kColumnsPerWave;
#pragma unroll
    for (int r = 0; r < Traits::kRowTiles; ++r) {
#pragma unroll
      for (int v = 0; v < Matrix::kOutputVectors; ++v) {
        const int row = r * Arch::kRowTile + Matrix::output_row(Arch::lane(), v);
        if (row >= work.row_count) continue;
        const float factor = inverse_sum_[row];
        const RowSink sink = row_sink(arguments_, work, row, kRows);
#pragma unroll
        for (int c = 0; c < Traits::kColumnTiles; ++c) {
          Vector<float, Matrix::kOutputWidth> values;
#pragma unroll
          for (int e = 0; e < Matrix::kOutputWidth; ++e) values.v[e] = Matrix::output(output[r][c], v, e) * factor;
          const int to = column + c * Matrix::kOutputColumns + Matrix::output_column(Arch::lane(), v);
          if (sink.partial != nullptr) {
            Arch::store(reinterpret_cast<Vector<float, Matrix::kOutputWidth>*>(sink.partial + to), values);
          } else {
            const auto packed = to_bf16<Arch>(values);
            Arch::store(reinterpret_cast<std::remove_const_t<decltype(packed)>*>(sink.direct + to), packed);
          }
        }
      }
    }
  }

  const DecodeArguments& arguments_;
  std::byte* tiles_;          // [stages][tokens] rows of KV
  float* scores_;             // [parts][rows][score pitch]
  std::byte* probabilities_;  // [rows][probability pitch]
  float* shrink_;             // [rows]
  float* inverse_sum_;        // [rows]
  float* query_scale_;        // [rows]
  SplitParts parts_;
  WorkerStart start_;
  std::conditional_t<(Arch::kCopyWaves > 0), CopyWaves<Arch, Traits>, OwnCopies<Arch, Traits>> copies_;
  int wave_;
};

}  // namespace mla
