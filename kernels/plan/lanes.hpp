// How the planner's loops are executed. The planner is written once over a `Lanes` type with four operations; each is a
// phase at whose end everything written in it is visible to all lanes:
//
//   parallel(count, f)                 f(i) for every i of [0, count), in any order
//   rows(count, width, f)              f(r, i) for every r of [0, count) and i of [0, width(r)), in any order
//   maxima(rows, width, f, out)        out[r] = largest of f(r, i), i of [0, width), each field by itself; 0 for none
//   scan(count, value, store)          store(i, running, total) for every i: running is the total of value(k), k < i;
//                                      returns the total of all
//
// Totals are of integers, so that no order of execution and no number of lanes can change a bit of the plan.
#pragma once

#include <cstdint>

#include "kernels/runtime/target.hpp"

namespace mla::plan {

/// What a scan adds up, and what it takes the largest of. No initialisers: it lives in shared memory. Its two uses in
/// the planner fill different fields; all are non-negative.
struct Totals {
  std::int64_t line;        // sum
  std::int64_t largest;     // maximum
  std::int32_t count;       // sum
  std::int32_t slots;       // sum
  std::int32_t reductions;  // sum
  std::int32_t busy;        // sum
  std::int32_t refused;     // maximum

  constexpr Totals& operator+=(const Totals& other) {
    line += other.line;
    largest = other.largest > largest ? other.largest : largest;
    count += other.count;
    slots += other.slots;
    reductions += other.reductions;
    busy += other.busy;
    refused = other.refused > refused ? other.refused : refused;
    return *this;
  }
};

/// A pair whose fields are maximised independently. Both are non-negative.
struct Maxima {
  std::int64_t first;
  std::int64_t second;

  constexpr void join(const Maxima& other) {
    first = other.first > first ? other.first : first;
    second = other.second > second ? other.second : second;
  }
};

/// One lane: the host planner, and the definition of what the parallel one must give.
struct SerialLanes {
  template <class Function>
  MLA_HOST_DEVICE void parallel(std::int32_t count, Function f) {
    MLA_NO_UNROLL
    for (std::int32_t i = 0; i < count; ++i) f(i);
  }

  template <class Width, class Function>
  MLA_HOST_DEVICE void rows(std::int32_t count, Width width, Function f) {
    MLA_NO_UNROLL
    for (std::int32_t r = 0; r < count; ++r) {
      const std::int32_t end = width(r);
      MLA_NO_UNROLL
      for (std::int32_t i = 0; i < end; ++i) f(r, i);
    }
  }

  template <class Function>
  MLA_HOST_DEVICE void maxima(std::int32_t rows, std::int32_t width, Function f, Maxima* out) {
    MLA_NO_UNROLL
    for (std::int32_t r = 0; r < rows; ++r) {
      Maxima largest{};
      MLA_NO_UNROLL
      for (std::int32_t i = 0; i < width; ++i) largest.join(f(r, i));
      out[r] = largest;
    }
  }

  template <class Value, class Store>
  MLA_HOST_DEVICE Totals scan(std::int32_t count, Value value, Store store) {
    Totals total{};
    MLA_NO_UNROLL
    for (std::int32_t i = 0; i < count; ++i) total += value(i);
    Totals running{};
    MLA_NO_UNROLL
    for (std::int32_t i = 0; i < count; ++i) {
      // Before store: it may overwrite what value reads.
      const Totals mine = value(i);
      store(i, running, total);
      running += mine;
    }
    return total;
  }
};

/// One workgroup of `kLanes` lanes. `Group` gives the lane's number in [0, kLanes), `Group::thread()`; the barrier that
/// every lane reaches, `Group::barrier()`; and `Group::shuffle_xor(int32, mask)`, the value of lane `thread() ^ mask`,
/// for masks below 16. `Shared` lives in memory that the workgroup shares.
///
/// Results are joined in registers within teams of 16 lanes, then over the teams through shared memory: barriers and
/// shared memory are most of the time of a plan of a small batch.
template <class Group, std::int32_t kLanes>
class GroupLanes {
  static constexpr std::int32_t kTeam = 16;
  static constexpr std::int32_t kTeams = kLanes / kTeam;
  static_assert(kLanes % kTeam == 0, "a team must be whole");

 public:
  struct Shared {
    Totals totals[kTeams];
    Maxima maxima[kTeams];
  };

  MLA_HOST_DEVICE explicit GroupLanes(Shared& shared) : shared_(shared) {}

  template <class Function>
  MLA_HOST_DEVICE void parallel(std::int32_t count, Function f) {
    MLA_NO_UNROLL
    for (std::int32_t i = lane(); i < count; i += kLanes) f(i);
    Group::barrier();
  }

  // Several lanes share a row where there are more lanes than rows: rows are few and of very different width.
  template <class Width, class Function>
  MLA_HOST_DEVICE void rows(std::int32_t count, Width width, Function f) {
    const std::int32_t sharers = lanes_a_row(count, kLanes);
    MLA_NO_UNROLL
    for (std::int32_t r = lane() / sharers; r < count; r += kLanes / sharers) {
      const std::int32_t end = width(r);
      MLA_NO_UNROLL
      for (std::int32_t i = lane() % sharers; i < end; i += sharers) f(r, i);
    }
    Group::barrier();
  }

  template <class Function>
  MLA_HOST_DEVICE void maxima(std::int32_t rows, std::int32_t width, Function f, Maxima* out) {
    const std::int32_t sharers = lanes_a_row(rows, width);
    const std::int32_t sharer = lane() % sharers;
    MLA_NO_UNROLL
    for (std::int32_t first = 0; first < rows; first += kLanes / sharers) {
      const std::int32_t r = first + lane() / sharers;
      Maxima largest{};
      MLA_NO_UNROLL
      for (std::int32_t i = r < rows ? sharer : width; i < width; i += sharers) largest.join(f(r, i));
      MLA_NO_UNROLL
      for (std::int32_t mask = 1; mask < kTeam && mask < sharers; mask *= 2) largest.join(partner(largest, mask));
      if (sharers > kTeam) join_teams(largest, sharers);
      if (r < rows && sharer == 0) out[r] = largest;
      Group::barrier();
    }
  }

  template <class Value, class Store>
  MLA_HOST_DEVICE Totals scan(std::int32_t count, Value value, Store store) {
    const std::int32_t chunk = (count + kLanes - 1) / kLanes;
    const std::int32_t begin = smaller(lane() * chunk, count);
    const std::int32_t end = smaller(begin + chunk, count);
    Totals sum{};
    MLA_NO_UNROLL
    for (std::int32_t i = begin; i < end; ++i) sum += value(i);
    // After the step of a mask, `sum` is that of the aligned run of 2 * mask lanes, `running` of its lanes before this
    // one.
    Totals running{};
    MLA_NO_UNROLL
    for (std::int32_t mask = 1; mask < kTeam; mask *= 2) {
      const Totals other = partner(sum, mask);
      if ((lane() & mask) != 0) running += other;
      sum += other;
    }
    if (lane() % kTeam == 0) shared_.totals[lane() / kTeam] = sum;
    Group::barrier();
    const std::int32_t teams = (smaller(count, kLanes) + kTeam - 1) / kTeam;
    Totals total{};
    MLA_NO_UNROLL
    for (std::int32_t i = 0; i < teams; ++i) {
      if (i == lane() / kTeam) running += total;
      total += shared_.totals[i];
    }
    MLA_NO_UNROLL
    for (std::int32_t i = begin; i < end; ++i) {
      // Before store: it may overwrite what value reads.
      const Totals next = value(i);
      store(i, running, total);
      running += next;
    }
    Group::barrier();
    return total;
  }

 private:
  MLA_HOST_DEVICE static std::int32_t lane() { return Group::thread(); }

  MLA_HOST_DEVICE static constexpr std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

  /// A power of two, so that the lanes of a row are aligned as the shuffles need it. No more than the row is wide.
  MLA_HOST_DEVICE static constexpr std::int32_t lanes_a_row(std::int32_t rows, std::int32_t width) {
    std::int32_t lanes = 1;
    while (lanes < width && 2 * lanes * rows <= kLanes && kLanes % (2 * lanes) == 0) lanes *= 2;
    return lanes;
  }

  MLA_HOST_DEVICE static std::int64_t partner(std::int64_t value, std::int32_t mask) {
    const auto bits = static_cast<std::uint64_t>(value);
    const auto low = static_cast<std::uint32_t>(Group::shuffle_xor(static_cast<std::int32_t>(bits), mask));
    const auto high = static_cast<std::uint32_t>(Group::shuffle_xor(static_cast<std::int32_t>(bits >> 32), mask));
    return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
  }
  MLA_HOST_DEVICE static Maxima partner(const Maxima& mine, std::int32_t mask) {
    return {partner(mine.first, mask), partner(mine.second, mask)};
  }
  MLA_HOST_DEVICE static Totals partner(const Totals& mine, std::int32_t mask) {
    Totals other{};
    other.line = partner(mine.line, mask);
    other.largest = partner(mine.largest, mask);
    other.count = Group::shuffle_xor(mine.count, mask);
    other.slots = Group::shuffle_xor(mine.slots, mask);
    other.reductions = Group::shuffle_xor(mine.reductions, mask);
    other.busy = Group::shuffle_xor(mine.busy, mask);
    other.refused = Group::shuffle_xor(mine.refused, mask);
    return other;
  }

  /// Of the teams of a row; in its first lane. `sharers` lanes a row are whole teams.
  MLA_HOST_DEVICE void join_teams(Maxima& largest, std::int32_t sharers) {
    const std::int32_t team = lane() / kTeam;
    if (lane() % kTeam == 0) shared_.maxima[team] = largest;
    Group::barrier();
    if (lane() % sharers != 0) return;
    MLA_NO_UNROLL
    for (std::int32_t i = 1; i < sharers / kTeam; ++i) largest.join(shared_.maxima[team + i]);
  }

  Shared& shared_;
};

}  // namespace mla::plan
