// Merging the partial results of a split tile: out = sum_s w_s out_s / sum_s w_s with w_s = e^(lse_s - max lse).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/decode/vector.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/decode.hpp"
#include "mla/plan.hpp"
#include "mla/shape.hpp"

namespace mla {

/// A workgroup's share of one reduction. The tile's rows are cut into units of one row x 64 columns; share i of n does
/// units i, i + n, ... A unit is merged by one or more teams of 16 lanes, which divide its splits.
template <class Arch, int kRows>
class MergeTile {
 public:
  static constexpr int kTeamLanes = 16;
  static constexpr int kTeams = Arch::kThreads / kTeamLanes;
  static constexpr int kColumns = 4 * kTeamLanes;
  static constexpr int kUnitsPerRow = kValueDim / kColumns;
  static constexpr int kPartBytes = kTeams * kTeamLanes * 16;
  static constexpr int kSharedBytes = kPartBytes + kTeams * kTeamLanes * 4;

  /// All lanes; `shared` holds kSharedBytes that nothing else uses.
  static MLA_DEVICE void run(const DecodeOutputs& outputs, const PlanView& plan, int heads, const Reduction& reduction,
                             int share, int shares, std::byte* shared) {
    const int units = reduction.row_count * kUnitsPerRow;
    const int own = (units - share + shares - 1) / shares;
    // Few units: several teams work on one, each on every n-th split.
    int teams_per_unit = 1;
    while (teams_per_unit < kTeams && teams_per_unit < reduction.splits && teams_per_unit * own < kTeams) {
      teams_per_unit *= 2;
    }
    const int team = Arch::thread() / kTeamLanes;
    const int member = team % teams_per_unit;
    const int side_by_side = kTeams / teams_per_unit;
    for (int base = 0; base < own; base += side_by_side) {
      const int at = base + team / teams_per_unit;
      const int unit = at < own ? share + at * shares : -1;
      merge_unit(outputs, plan, heads, reduction, unit, member, teams_per_unit, shared);
    }
  }

 private:
  using Four = Vector<float, 4>;
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  static constexpr float kLog2E = 1.44269504088896341F;
  static constexpr float kLn2 = 0.693147180559945309F;

  // A part whose lse is -inf, +inf or NaN saw no token: its values, whatever they are, do not count.
  static MLA_DEVICE float usable(float lse) {
    return lse > kMinusInfinity && lse < std::numeric_limits<float>::infinity() ? lse : kMinusInfinity;
  }

  static MLA_DEVICE void merge_unit(const DecodeOutputs& outputs, const PlanView& plan, int heads,
                                    const Reduction& reduction, int unit, int member, int members, std::byte* shared) {
    const int lane = Arch::thread() % kTeamLanes;
    const int row = unit < 0 ? 0 : unit / kUnitsPerRow;
    const int column = (unit < 0 ? 0 : unit % kUnitsPerRow) * kColumns + lane * 4;
    const float* lse = plan.partial_lse + std::int64_t{reduction.slot_begin} * kRows + row;
    const float highest = highest_lse(lse, reduction.splits);
    const float reference = highest == kMinusInfinity ? 0.0F : highest;

    const float* partial = plan.partial_out + (std::int64_t{reduction.slot_begin} * kRows + row) * kValueDim + column;
    Four sum{};
    float weights = 0;
#pragma unroll 4
    for (int split = member; split < reduction.splits; split += members) {
      const float own = usable(Arch::load_coherent(lse + split * kRows));
      const Four values =
          Arch::load_coherent(reinterpret_cast<const Four*>(partial + std::int64_t{split} * kRows * kValueDim));
      const float weight = Arch::exp2((own - reference) * kLog2E);
      weights += weight;
      if (own == kMinusInfinity) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e) sum.v[e] += weight * values.v[e];
    }
    combine(sum, weights, member, members, shared);
    if (unit < 0 || member != 0) return;
    write(outputs, heads, reduction, row, column, sum, weights, highest);
  }

  static MLA_DEVICE float highest_lse(const float* lse, int splits) {
    float highest = kMinusInfinity;
    for (int split = Arch::thread() % kTeamLanes; split < splits; split += kTeamLanes) {
      const float own = usable(Arch::load_coherent(lse + split * kRows));
      highest = own > highest ? own : highest;
    }
#pragma unroll
    for (int mask = kTeamLanes / 2; mask > 0; mask /= 2) {
      const float other = Arch::shuffle_xor(highest, mask);
      highest = other > highest ? other : highest;
    }
    return highest;
  }

  // Sums over the members of a unit, by halves, so that every team writes its part once.
  static MLA_DEVICE void combine(Four& sum, float& weights, int member, int members, std::byte* shared) {
    auto* parts = reinterpret_cast<Vector<float, 4>*>(shared);
    auto* part_weights = reinterpret_cast<float*>(shared + kPartBytes);
    if (members == 1) return;
    parts[Arch::thread()] = sum;
    part_weights[Arch::thread()] = weights;
    Arch::barrier();
    if (member == 0) {
      for (int m = 1; m < members; ++m) {
        const Four more = parts[Arch::thread() + m * kTeamLanes];
#pragma unroll
        for (int e = 0; e < 4; ++e) sum.v[e] += more.v[e];
        weights += part_weights[Arch::thread() + m * kTeamLanes];
      }
    }
    Arch::barrier();
  }

  static MLA_DEVICE void write(const DecodeOutputs& outputs, int heads, const Reduction& reduction, int row, int column,
                               const Four& sum, float weights, float highest) {
    const int of_request = reduction.row_begin + row;
    const int request_token = of_request / heads;
    const std::int64_t head = of_request - request_token * heads;
    const std::int64_t token = std::int64_t{reduction.q_token} + request_token;
    const float inverse = weights > 0 ? 1.0F / weights : 0.0F;
    Four values;
#pragma unroll
    for (int e = 0; e < 4; ++e) values.v[e] = sum.v[e] * inverse;
    const auto packed = to_bf16<Arch>(values);
    auto* out = static_cast<std::uint16_t*>(outputs.out.data) + token * outputs.out.token_stride +
                head * outputs.out.head_stride + column;
    Arch::store(reinterpret_cast<std::remove_const_t<decltype(packed)>*>(out), packed);
    if (column != 0) return;
    const float lse = weights > 0 ? highest + Arch::log2(weights) * kLn2 : kMinusInfinity;
    Arch::store(outputs.lse.data + token * outputs.lse.token_stride + head * outputs.lse.head_stride, lse);
  }
};

}  // namespace mla
