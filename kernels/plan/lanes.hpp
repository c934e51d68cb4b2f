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
    for (std::int32_t i = 0; i < count; ++i) f(i);
  }

  template <class Width, class Function>
  MLA_HOST_DEVICE void rows(std::int32_t count, Width width, Function f) {
    for (std::int32_t r = 0; r < count; ++r) {
      const std::int32_t end = width(r);
      for (std::int32_t i = 0; i < end; ++i) f(r, i);
    }
  }

  template <class Function>
  MLA_HOST_DEVICE void maxima(std::int32_t rows, std::int32_t width, Function f, Maxima* out) {
    for (std::int32_t r = 0; r < rows; ++r) {
      Maxima largest{};
      for (std::int32_t i = 0; i < width; ++i) largest.join(f(r, i));
      out[r] = largest;
    }
  }

  template <class Value, class Store>
  MLA_HOST_DEVICE Totals scan(std::int32_t count, Value value, Store store) {
    Totals total{};
    for (std::int32_t i = 0; i < count; ++i) total += value(i);
    Totals running{};
    for (std::int32_t i = 0; i < count; ++i) {
      // Before store: it may overwrite what value reads.
      const Totals mine = value(i);
      store(i, running, total);
      running += mine;
    }
    return total;
  }
};

/// One workgroup of `kLanes` lanes. `Group` gives the lane's number and the barrier: `Group::thread()` in [0, kLanes)
/// and `Group::barrier()`, which every lane reaches. `Shared` lives in memory that the workgroup shares.
template <class Group, std::int32_t kLanes>
class GroupLanes {
  // Partial results are joined in two steps, by the first lane of each team and then over the teams: three barriers,
  // where a tree over all lanes takes one or two a level, and barriers are most of the time of a plan of a small batch.
  static constexpr std::int32_t kTeam = 16;
  static constexpr std::int32_t kTeams = (kLanes + kTeam - 1) / kTeam;

 public:
  struct Shared {
    union {
      Totals totals[kLanes];
      Maxima maxima[kLanes];
    };
    Totals team_totals[kTeams];
  };

  MLA_HOST_DEVICE explicit GroupLanes(Shared& shared) : shared_(shared) {}

  template <class Function>
  MLA_HOST_DEVICE void parallel(std::int32_t count, Function f) {
    for (std::int32_t i = lane(); i < count; i += kLanes) f(i);
    Group::barrier();
  }

  // Several lanes share a row where there are more lanes than rows: rows are few and of very different width.
  template <class Width, class Function>
  MLA_HOST_DEVICE void rows(std::int32_t count, Width width, Function f) {
    const std::int32_t sharers = lanes_a_row(count);
    for (std::int32_t r = lane() / sharers; r < count; r += kLanes / sharers) {
      const std::int32_t end = width(r);
      for (std::int32_t i = lane() % sharers; i < end; i += sharers) f(r, i);
    }
    Group::barrier();
  }

  template <class Function>
  MLA_HOST_DEVICE void maxima(std::int32_t rows, std::int32_t width, Function f, Maxima* out) {
    const std::int32_t sharers = smaller(lanes_a_row(rows), width > 0 ? width : 1);
    const std::int32_t at_once = kLanes / sharers;
    const std::int32_t sharer = lane() % sharers;
    for (std::int32_t first = 0; first < rows; first += at_once) {
      const std::int32_t r = first + lane() / sharers;
      const bool active = lane() < at_once * sharers && r < rows;
      Maxima largest{};
      for (std::int32_t i = active ? sharer : width; i < width; i += sharers) largest.join(f(r, i));
      shared_.maxima[lane()] = largest;
      Group::barrier();
      if (active && sharer % kTeam == 0) {
        const std::int32_t end = smaller(sharer + kTeam, sharers);
        for (std::int32_t i = sharer + 1; i < end; ++i) largest.join(shared_.maxima[lane() + i - sharer]);
        shared_.maxima[lane()] = largest;
      }
      Group::barrier();
      if (active && sharer == 0) {
        for (std::int32_t i = kTeam; i < sharers; i += kTeam) largest.join(shared_.maxima[lane() + i]);
        out[r] = largest;
      }
      Group::barrier();
    }
  }

  template <class Value, class Store>
  MLA_HOST_DEVICE Totals scan(std::int32_t count, Value value, Store store) {
    const std::int32_t chunk = (count + kLanes - 1) / kLanes;
    const std::int32_t begin = smaller(lane() * chunk, count);
    const std::int32_t end = smaller(begin + chunk, count);
    Totals mine{};
    for (std::int32_t i = begin; i < end; ++i) mine += value(i);
    shared_.totals[lane()] = mine;
    Group::barrier();
    const std::int32_t team = lane() / kTeam;
    if (lane() % kTeam == 0) {
      for (std::int32_t i = lane() + 1; i < smaller(lane() + kTeam, kLanes); ++i) mine += shared_.totals[i];
      shared_.team_totals[team] = mine;
    }
    Group::barrier();
    const std::int32_t teams = (smaller(count, kLanes) + kTeam - 1) / kTeam;
    Totals running{};
    Totals total{};
    for (std::int32_t i = 0; i < teams; ++i) {
      if (i == team) running = total;
      total += shared_.team_totals[i];
    }
    for (std::int32_t i = team * kTeam; begin < end && i < lane(); ++i) running += shared_.totals[i];
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

  MLA_HOST_DEVICE static constexpr std::int32_t lanes_a_row(std::int32_t rows) {
    return rows >= kLanes || rows < 1 ? 1 : kLanes / rows;
  }

  Shared& shared_;
};

}  // namespace mla::plan
