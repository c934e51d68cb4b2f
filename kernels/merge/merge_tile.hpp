// Merging the partial results of split tiles: out = sum_s w_s out_s / sum_s w_s with w_s = e^(lse_s - max lse).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/decode/vector.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/decode.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla {

/// A workgroup's share of a reduction. The tile's rows are cut into units of one row x 64 columns; share i of n does
/// units i, i + n, ... A unit is merged by one or more teams of 16 lanes, which divide its splits.
///
/// A merge is short and all latency, so everything a lane needs is loaded at once, before the largest lse is known, and
/// sums are rescaled where a larger one turns up.
template <class Arch, int kRows>
class MergeTile {
 public:
  static constexpr int kTeamLanes = 16;
  static constexpr int kTeams = Arch::kThreads / kTeamLanes;
  static constexpr int kColumns = 4 * kTeamLanes;
  static constexpr int kUnitsPerRow = kValueDim / kColumns;
  static constexpr int kPartBytes = kTeams * kTeamLanes * 16;
  static constexpr int kSharedBytes = kPartBytes + kTeams * kTeamLanes * 8;

  /// All compute lanes; `shared` holds kSharedBytes that nothing else uses. `shares` is at least kLeastShares: where
  /// these leave no share more units than there are teams, the code for more is left out, and with it half of the
  /// registers.
  template <int kLeastShares = 1>
  static MLA_DEVICE void run(const DecodeOutputs& outputs, const PlanView& plan, int heads, const Reduction& reduction,
                             int share, int shares, std::byte* shared) {
    const MergeTile merge(outputs, plan, heads, reduction, share, shares);
    if constexpr (kRows * kUnitsPerRow <= kLeastShares * kTeams) {
      merge.share_units(shared);
    } else if (merge.own_ <= kTeams) {
      merge.share_units(shared);
    } else {
      merge.own_units();
    }
  }

 private:
  using Four = Vector<float, 4>;
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  static constexpr float kLog2E = 1.44269504088896341F;
  static constexpr float kLn2 = 0.693147180559945309F;

  // Weighted sum of some splits of a unit, relative to their largest lse.
  struct Sum {
    Four values = {};
    float weight = 0;
    float highest = kMinusInfinity;
  };

  MLA_DEVICE MergeTile(const DecodeOutputs& outputs, const PlanView& plan, int heads, const Reduction& reduction,
                       int share, int shares)
      : outputs_(outputs),
        reduction_(reduction),
        heads_(heads),
        share_(share),
        shares_(shares),
        own_((reduction.row_count * kUnitsPerRow - share + shares - 1) / shares),
        lse_(plan.partial_lse + std::int64_t{reduction.slot_begin} * kRows),
        partial_(plan.partial_out + std::int64_t{reduction.slot_begin} * kRows * kValueDim) {}

  // Few units, many splits: several teams to a unit.
  MLA_DEVICE void share_units(std::byte* shared) const {
    int members = 1;
    while (members * 2 * own_ <= kTeams && members < reduction_.splits) members *= 2;
    const int team = Arch::thread() / kTeamLanes;
    const int member = team % members;
    const int unit = team / members < own_ ? share_ + team / members * shares_ : -1;
    Sum sum;
    if (unit >= 0) add_splits<1, 8>(&unit, member, members, &sum);
    if (members > 1) combine(sum, member, members, shared);
    if (unit >= 0 && member == 0) write(unit, sum);
  }

  // Many units: some at a time to a team, all splits of each. Sixteen loads of a lane are in flight either way:
  // measured on an H200 at 128 heads, eight took twice as long.
  MLA_DEVICE void own_units() const {
    if (own_ <= 2 * kTeams) {
      add_units<2, 8>();
    } else {
      add_units<4, 4>();
    }
  }

  template <int kUnits, int kAtOnce>
  MLA_DEVICE void add_units() const {
    for (int base = Arch::thread() / kTeamLanes; base < own_; base += kTeams * kUnits) {
      int units[kUnits];
#pragma unroll
      for (int u = 0; u < kUnits; ++u)
        units[u] = base + u * kTeams < own_ ? share_ + (base + u * kTeams) * shares_ : -1;
      Sum sums[kUnits];
      add_splits<kUnits, kAtOnce>(units, 0, 1, sums);
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        if (units[u] >= 0) write(units[u], sums[u]);
      }
    }
  }

  static MLA_DEVICE int row_of(int unit) {
    return unit / kUnitsPerRow;
  }
  static MLA_DEVICE int column_of(int unit) {
    return unit % kUnitsPerRow * kColumns + Arch::thread() % kTeamLanes * 4;
  }

  // A part whose lse is -inf, +inf or NaN saw no token: its values, whatever they are, do not count.
  static MLA_DEVICE float usable(float lse) {
    return lse > kMinusInfinity && lse < std::numeric_limits<float>::infinity() ? lse : kMinusInfinity;
  }

  // Splits first, first + step, ..., kAtOnce of them in flight for each unit.
  template <int kUnits, int kAtOnce>
  MLA_DEVICE void add_splits(const int* units, int first, int step, Sum* sums) const {
    for (int split = first; split < reduction_.splits; split += step * kAtOnce) {
      float lse[kUnits][kAtOnce];
      Four values[kUnits][kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int u = 0; u < kUnits; ++u) {
          const int at = split + i * step;
          const bool present = at < reduction_.splits && units[u] >= 0;
          lse[u][i] = kMinusInfinity;
          values[u][i] = {};
          if (!present) continue;
          const std::int64_t row = std::int64_t{at} * kRows + row_of(units[u]);
          lse[u][i] = Arch::load_coherent(lse_ + row);
          values[u][i] =
              Arch::load_coherent(reinterpret_cast<const Four*>(partial_ + row * kValueDim + column_of(units[u])));
        }
      }
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) add(sums[u], usable(lse[u][i]), 1.0F, values[u][i]);
      }
    }
  }

  static MLA_DEVICE void add(Sum& sum, float lse, float weight, const Four& values) {
    if (lse == kMinusInfinity) return;
    const float highest = lse > sum.highest ? lse : sum.highest;
    const float shrink = Arch::exp2((sum.highest - highest) * kLog2E);
    const float factor = Arch::exp2((lse - highest) * kLog2E);
    sum.weight = sum.weight * shrink + weight * factor;
#pragma unroll
    for (int e = 0; e < 4; ++e) sum.values.v[e] = sum.values.v[e] * shrink + values.v[e] * factor;
    sum.highest = highest;
  }

  // Member 0 of each unit gets the sum over all members.
  static MLA_DEVICE void combine(Sum& sum, int member, int members, std::byte* shared) {
    auto* parts = reinterpret_cast<Four*>(shared);
    auto* weights = reinterpret_cast<Vector<float, 2>*>(shared + kPartBytes);
    parts[Arch::thread()] = sum.values;
    weights[Arch::thread()] = {{sum.weight, sum.highest}};
    Arch::barrier();
    if (member != 0) return;
    for (int m = 1; m < members; ++m) {
      const Vector<float, 2> weight = weights[Arch::thread() + m * kTeamLanes];
      add(sum, weight.v[1], weight.v[0], parts[Arch::thread() + m * kTeamLanes]);
    }
  }

  MLA_DEVICE void write(int unit, const Sum& sum) const {
    const int of_request = reduction_.row_begin + row_of(unit);
    const int request_token = of_request / heads_;
    const std::int64_t head = of_request - request_token * heads_;
    const std::int64_t token = std::int64_t{reduction_.q_token} + request_token;
    const int column = column_of(unit);
    const float inverse = sum.weight > 0 ? 1.0F / sum.weight : 0.0F;
    Four values;
#pragma unroll
    for (int e = 0; e < 4; ++e) values.v[e] = sum.values.v[e] * inverse;
    const auto packed = to_bf16<Arch>(values);
    const OutputView& out = outputs_.out;
    auto* to = static_cast<std::uint16_t*>(out.data) + token * out.token_stride + head * out.head_stride + column;
    Arch::store(reinterpret_cast<std::remove_const_t<decltype(packed)>*>(to), packed);
    if (column != 0) return;
    const float lse = sum.weight > 0 ? sum.highest + Arch::log2(sum.weight) * kLn2 : kMinusInfinity;
    Arch::store(outputs_.lse.data + token * outputs_.lse.token_stride + head * outputs_.lse.head_stride, lse);
  }

  const DecodeOutputs& outputs_;
  const Reduction& reduction_;
  int heads_;
  int share_;
  int shares_;
  int own_;  // units of this share
  const float* lse_;
  const float* partial_;
};

}  // namespace mla
