// How the planner's loops are executed. The planner is written once over a `Lanes` type with four operations; each is a
// phase at whose end everything written in it is visible to all lanes:
//
//   parallel(count, f)                 f(i) for every i of [0, count), in any order
//   rows(count, width, f)              f(r, i) for every r of [0, count) and i of [0, width(r)), in any order
//   maxima(rows, width, f, out)        out[r] = largest of f(r, i), i of [0, width), each field by itself; 0 for none
//   scan(count, value, store)          store(i, sum of value(k), k < i) for every i; returns the sum of all
//
// Sums and maxima are of integers, so that no order of execution and no number of lanes can change a bit of the plan.
#pragma once

#include <cstdint>

#include "kernels/runtime/target.hpp"

namespace mla::plan {

/// What one scan adds up; the two scans of the planner use different fields. No initialisers: it lives in shared
/// memory.
struct Sums {
  std::int64_t line;
  std::int32_t count;
  std::int32_t slots;
  std::int32_t reductions;
  std::int32_t busy;

  constexpr Sums& operator+=(const Sums& other) {
    line += other.line;
    count += other.count;
    slots += other.slots;
    reductions += other.reductions;
    busy += other.busy;
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
  MLA_HOST_DEVICE Sums scan(std::int32_t count, Value value, Store store) {
    Sums sum{};
    for (std::int32_t i = 0; i < count; ++i) {
      const Sums mine = value(i);
      store(i, sum);
      sum += mine;
    }
    return sum;
  }
};

/// One workgroup of `kLanes` lanes. `Group` gives the lane's number and the barrier: `Group::thread()` in [0, kLanes)
/// and `Group::barrier()`, which every lane reaches. `Shared` lives in memory that the workgroup shares.
template <class Group, std::int32_t kLanes>
class GroupLanes {
 public:
  struct Shared {
    union {
      Sums sums[kLanes];
      Maxima maxima[kLanes];
    };
    Sums total;
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
    const std::int32_t sharers = lanes_a_row(rows);
    const std::int32_t at_once = kLanes / sharers;
    const std::int32_t sharer = lane() % sharers;
    for (std::int32_t first = 0; first < rows; first += at_once) {
      const std::int32_t r = first + lane() / sharers;
      const bool active = lane() < at_once * sharers && r < rows;
      Maxima largest{};
      for (std::int32_t i = active ? sharer : width; i < width; i += sharers) largest.join(f(r, i));
      shared_.maxima[lane()] = largest;
      Group::barrier();
      for (std::int32_t distance = half_of_next_power_of_two(sharers); distance > 0; distance /= 2) {
        if (active && sharer < distance && sharer + distance < sharers) {
          shared_.maxima[lane()].join(shared_.maxima[lane() + distance]);
        }
        Group::barrier();
      }
      if (active && sharer == 0) out[r] = shared_.maxima[lane()];
      Group::barrier();
    }
  }

  template <class Value, class Store>
  MLA_HOST_DEVICE Sums scan(std::int32_t count, Value value, Store store) {
    const std::int32_t chunk = (count + kLanes - 1) / kLanes;
    const std::int32_t begin = smaller(lane() * chunk, count);
    const std::int32_t end = smaller(begin + chunk, count);
    Sums mine{};
    for (std::int32_t i = begin; i < end; ++i) mine += value(i);
    Sums running = exclusive_sum(mine, smaller(count, kLanes));
    for (std::int32_t i = begin; i < end; ++i) {
      // Before store: it may overwrite what value reads.
      const Sums next = value(i);
      store(i, running);
      running += next;
    }
    Group::barrier();
    return shared_.total;
  }

 private:
  MLA_HOST_DEVICE static std::int32_t lane() { return Group::thread(); }

  MLA_HOST_DEVICE static constexpr std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

  MLA_HOST_DEVICE static constexpr std::int32_t lanes_a_row(std::int32_t rows) {
    return rows >= kLanes || rows < 1 ? 1 : kLanes / rows;
  }

  MLA_HOST_DEVICE static constexpr std::int32_t half_of_next_power_of_two(std::int32_t n) {
    std::int32_t power = 1;
    while (power < n) power *= 2;
    return power / 2;
  }

  // Sum of the values of the lanes before this one; the sum of all goes to shared_.total. Lanes at or after `active`
  // must hold zero: what they would add is skipped.
  MLA_HOST_DEVICE Sums exclusive_sum(const Sums& mine, std::int32_t active) {
    shared_.sums[lane()] = mine;
    Group::barrier();
    for (std::int32_t distance = 1; distance < active; distance *= 2) {
      Sums other{};
      if (lane() >= distance && lane() < active) other = shared_.sums[lane() - distance];
      Group::barrier();
      if (lane() < active) shared_.sums[lane()] += other;
      Group::barrier();
    }
    Sums before{};
    if (lane() > 0 && lane() <= active) before = shared_.sums[lane() - 1];
    if (lane() == 0) shared_.total = active > 0 ? shared_.sums[active - 1] : Sums{};
    Group::barrier();
    return before;
  }

  Shared& shared_;
};

}  // namespace mla::plan
