// The planner. One function, compiled for host and device; integer arithmetic only, so that both give the same bits.
//
// All row tiles of all requests are laid on a line: a tile takes `cost.work` plus its KV tokens rounded up to whole
// steps. A plan is num_workers + 1 cuts of that line; worker w does what lies between cut w and cut w + 1, so a plan
// has at most num_workers - 1 split tiles whatever the batch. Cuts lie on tile boundaries or on multiples of
// tile.tokens within one.
//
// The cuts are the best of a fixed set of candidates, each a closed form, so that every worker's cost under every
// candidate is computed independently of the others:
//
//   equal  every tile in s equal pieces, dealt to the workers in order, in runs whose counts differ by at most one
//   whole  the line in equal lengths, cuts moved to the nearest tile boundary: nothing is split
//   even   the line in equal lengths, cuts moved to the nearest step
//
// The equal-split plan that a plan is compared with is the best of `equal` over s = 1 .. max(1, ceil(workers / tiles)),
// bounded by split_limit: the first s that gives every worker a piece, and all below. All of these are candidates, so
// the plan is never worse. Last, cuts whose removal leaves the busiest worker as it is are removed.
#pragma once

#include <cstdint>

#include "kernels/plan/lanes.hpp"
#include "kernels/runtime/target.hpp"
#include "mla/plan.hpp"

namespace mla::plan {

enum class Family : std::int32_t { equal, whole, even };

/// One way to cut the line. `step`: the number of pieces of a tile for `equal`, the length for each worker for the
/// others.
struct Candidate {
  Family family;
  std::int64_t step;
  bool allowed;
};

// `equal` with s = 1, with the best s that gives no worker two pieces, and with the first s above it.
inline constexpr std::int32_t kEqualCandidates = 3;
// The line's mean length for a worker times 1, 17/16, ..., 23/16.
inline constexpr std::int32_t kWholeCandidates = 8;
// The mean times 1, 9/8, ..., 15/8 and then in quarter octaves up to 16: fewer, larger pieces where merging is dear.
inline constexpr std::int32_t kEvenCandidates = 20;
inline constexpr std::int32_t kCandidates = kEqualCandidates + kWholeCandidates + kEvenCandidates;

/// What the lanes share apart from the workspace.
struct State {
  Candidate candidates[kCandidates];
  std::int32_t allowed[kCandidates];  // candidates that may be chosen, in their order
  std::int32_t num_allowed;
  Maxima costs[kCandidates];  // of allowed candidates: busiest worker, largest number of splits
  Maxima best;                // result of a search for one best
};

/// Of non-negative numbers. Almost all fit 32 bits, and a 64-bit division takes a device many times as long.
MLA_HOST_DEVICE MLA_NO_INLINE constexpr std::int64_t divide(std::int64_t a, std::int64_t b) {
  const auto dividend = static_cast<std::uint64_t>(a);
  const auto divisor = static_cast<std::uint64_t>(b);
  if ((dividend | divisor) >> 32 == 0)
    return static_cast<std::uint32_t>(dividend) / static_cast<std::uint32_t>(divisor);
  return static_cast<std::int64_t>(dividend / divisor);
}
MLA_HOST_DEVICE constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return divide(a + b - 1, b);
}
MLA_HOST_DEVICE constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
MLA_HOST_DEVICE constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
MLA_HOST_DEVICE constexpr bool before(const PlanCut& a, const PlanCut& b) {
  return a.tile != b.tile ? a.tile < b.tile : a.block < b.block;
}
MLA_HOST_DEVICE constexpr bool same(const PlanCut& a, const PlanCut& b) {
  return a.tile == b.tile && a.block == b.block;
}

/// Of a power of two. Not std::countr_zero: compiled for a device by nvcc it gives a wrong answer without a word.
MLA_HOST_DEVICE constexpr std::int32_t log2_of(std::int32_t value) {
  std::int32_t exponent = 0;
  while ((1 << exponent) < value) ++exponent;
  return exponent;
}

/// The makespan that a busiest worker and a number of splits amount to.
MLA_HOST_DEVICE constexpr std::int64_t makespan(const CostModel& cost, std::int64_t busiest, std::int64_t splits) {
  return splits > 1 ? busiest + cost.merge + cost.merge_per_split * splits : busiest;
}

/// Lengths of one request, and of one of its tiles. All of it is read at once, before any of it is judged: a chain of
/// dependent reads would wait for memory once a link.
class Request {
 public:
  MLA_HOST_DEVICE constexpr Request(const PlanProblem& problem, std::int32_t request)
      : heads_(problem.heads),
        rows_(problem.tile.rows),
        causal_(problem.causal),
        q_begin_(problem.batch.qo_indptr[request]),
        q_end_(problem.batch.qo_indptr[request + 1]),
        first_page_(problem.batch.kv_indptr[request]),
        pages_(static_cast<std::int64_t>(problem.batch.kv_indptr[request + 1]) - first_page_),
        last_page_(problem.batch.kv_last_page_len[request]),
        q_len_(q_end_ - q_begin_),
        // No pages means no tokens whatever the last page is said to hold.
        kv_len_(pages_ <= 0 ? 0 : static_cast<std::int32_t>((pages_ - 1) * problem.page_size + last_page_)) {}

  MLA_HOST_DEVICE constexpr PlanError error(const PlanProblem& problem) const {
    const bool query = q_begin_ >= 0 && q_len_ >= 0 && q_len_ <= problem.max_q_len &&
                       q_end_ - problem.batch.qo_indptr[0] <= problem.max_total_q;
    if (!query) return PlanError::query;
    if (pages_ < 0 || first_page_ < 0) return PlanError::kv_length;
    const bool kv = pages_ == 0 || (last_page_ >= 1 && last_page_ <= problem.page_size &&
                                    (pages_ - 1) * problem.page_size + last_page_ <= kMaxKvLength);
    return kv ? PlanError::none : PlanError::kv_length;
  }

  MLA_HOST_DEVICE constexpr std::int32_t q_begin() const { return q_begin_; }
  MLA_HOST_DEVICE constexpr std::int32_t first_page() const { return first_page_; }
  MLA_HOST_DEVICE constexpr std::int32_t tiles() const { return row_tiles(heads_, q_len_, rows_); }
  MLA_HOST_DEVICE constexpr std::int32_t row_begin(std::int32_t tile) const { return tile * rows_; }
  MLA_HOST_DEVICE constexpr std::int32_t row_end(std::int32_t tile) const {
    return static_cast<std::int32_t>(smaller(static_cast<std::int64_t>(tile + 1) * rows_, heads_ * q_len_));
  }
  /// KV tokens that query token 0 sees, not bounded below by zero.
  MLA_HOST_DEVICE constexpr std::int32_t visible() const { return causal_ ? kv_len_ - q_len_ + 1 : kv_len_; }
  /// KV tokens that at least one row of the tile sees: those of its last row.
  MLA_HOST_DEVICE constexpr std::int32_t kv_end(std::int32_t tile) const {
    const std::int32_t last_token = (row_end(tile) - 1) / heads_;
    const std::int32_t count = causal_ ? visible() + last_token : kv_len_;
    return count > 0 ? count : 0;
  }

 private:
  std::int32_t heads_;
  std::int32_t rows_;
  bool causal_;
  std::int32_t q_begin_;
  std::int32_t q_end_;
  std::int32_t first_page_;
  std::int64_t pages_;
  std::int32_t last_page_;
  std::int32_t q_len_;
  std::int32_t kv_len_;
};

/// The tiles of a batch on their line, and the cost of what lies between two cuts.
class Line {
 public:
  MLA_HOST_DEVICE constexpr Line(const PlanProblem& problem, const std::int64_t* starts, std::int32_t tiles)
      : cost_(problem.cost),
        tokens_(problem.tile.tokens),
        shift_(log2_of(problem.tile.tokens)),
        workers_(problem.num_workers),
        starts_(starts),
        tiles_(tiles) {}

  MLA_HOST_DEVICE constexpr std::int32_t tiles() const { return tiles_; }
  MLA_HOST_DEVICE constexpr std::int64_t length() const { return starts_[tiles_]; }
  /// Steps of a tile: whole ones, the last may be partly masked.
  MLA_HOST_DEVICE constexpr std::int64_t blocks(std::int32_t tile) const {
    return (starts_[tile + 1] - starts_[tile] - cost_.work) >> shift_;
  }

  /// Where `candidate` begins worker `worker`'s part.
  MLA_HOST_DEVICE MLA_NO_INLINE constexpr PlanCut cut(const Candidate& candidate, std::int32_t worker) const {
    if (worker == 0) return {0, 0};
    if (worker >= workers_) return {tiles_, 0};
    switch (candidate.family) {
      case Family::equal: return equal_cut(candidate.step, worker);
      case Family::whole: return whole_cut(candidate.step * worker);
      case Family::even: return even_cut(candidate.step * worker);
    }
    return {tiles_, 0};
  }

  /// Works between two cuts.
  MLA_HOST_DEVICE constexpr std::int32_t works(const PlanCut& begin, const PlanCut& end) const {
    return end.tile - begin.tile + (end.block > 0 ? 1 : 0) - (same(begin, end) && begin.block > 0 ? 1 : 0);
  }
  /// Of those, the ones that are not a whole tile.
  MLA_HOST_DEVICE constexpr std::int32_t partials(const PlanCut& begin, const PlanCut& end) const {
    if (same(begin, end)) return 0;
    const bool first = begin.block > 0;
    const bool last = end.block > 0;
    return first && last && begin.tile == end.tile ? 1 : (first ? 1 : 0) + (last ? 1 : 0);
  }
  MLA_HOST_DEVICE MLA_NO_INLINE constexpr std::int64_t cost(const PlanCut& begin, const PlanCut& end) const {
    if (same(begin, end)) return 0;
    // A worker that begins within a tile pays for a work that the line charged to whoever began the tile.
    return position(end) - position(begin) + (begin.block > 0 ? cost_.work : 0) +
           static_cast<std::int64_t>(cost_.partial) * partials(begin, end);
  }

  /// Pieces of the tile that `worker` begins and does not end, 1 where there is none.
  MLA_HOST_DEVICE constexpr std::int64_t splits(const Candidate& candidate, std::int32_t worker, const PlanCut& begin,
                                                const PlanCut& end) const {
    if (end.block == 0 || (begin.tile == end.tile && begin.block > 0)) return 1;
    if (candidate.family == Family::even) {
      // Cuts lie at least one step apart, so each of the tile makes a piece.
      const std::int64_t last = divide(starts_[end.tile + 1] - tokens_ / 2 - 1, candidate.step);
      return smaller(last, workers_ - 1) - worker + 1;
    }
    const std::int64_t count = candidate.step * tiles_;
    if (count <= workers_) return smaller(candidate.step, blocks(end.tile));
    const std::int64_t last = divide((end.tile + 1) * candidate.step * workers_ - 1, count);
    return smaller(last, workers_ - 1) - worker + 1;
  }

 private:
  MLA_HOST_DEVICE constexpr std::int64_t position(const PlanCut& cut) const {
    return starts_[cut.tile] + (cut.block > 0 ? cost_.work + static_cast<std::int64_t>(cut.block) * tokens_ : 0);
  }

  /// The last tile that begins at or before `position`, which is below length().
  MLA_HOST_DEVICE constexpr std::int32_t tile_at(std::int64_t position) const {
    std::int32_t low = 0;
    std::int32_t high = tiles_;
    MLA_NO_UNROLL
    while (high - low > 1) {
      const std::int32_t middle = low + (high - low) / 2;
      (starts_[middle] <= position ? low : high) = middle;
    }
    return low;
  }

  MLA_HOST_DEVICE constexpr PlanCut even_cut(std::int64_t position) const {
    if (position >= length()) return {tiles_, 0};
    const std::int32_t tile = tile_at(position);
    const std::int64_t offset = position - starts_[tile] - cost_.work;
    if (offset <= 0) return {tile, 0};
    const std::int64_t block = (offset + tokens_ / 2) >> shift_;
    if (block >= blocks(tile)) return {tile + 1, 0};
    return {tile, static_cast<std::int32_t>(block)};
  }

  MLA_HOST_DEVICE constexpr PlanCut whole_cut(std::int64_t position) const {
    if (position >= length()) return {tiles_, 0};
    const std::int32_t tile = tile_at(position);
    return {position - starts_[tile] < starts_[tile + 1] - position ? tile : tile + 1, 0};
  }

  MLA_HOST_DEVICE constexpr PlanCut equal_cut(std::int64_t pieces, std::int32_t worker) const {
    const std::int64_t count = pieces * tiles_;
    const std::int64_t piece = count <= workers_ ? worker : divide(worker * count, workers_);
    if (piece >= count) return {tiles_, 0};
    const auto tile = static_cast<std::int32_t>(divide(piece, pieces));
    const std::int64_t of_tile = piece - tile * pieces;
    return {tile, static_cast<std::int32_t>(divide(blocks(tile) * of_tile, pieces))};
  }

  CostModel cost_;
  std::int32_t tokens_;  // a power of two
  std::int32_t shift_;   // its logarithm: a 64-bit division takes a device a hundred cycles
  std::int32_t workers_;
  const std::int64_t* starts_;  // [tiles + 1]
  std::int32_t tiles_;
};

/// The phases of planning; see the head of this file. All lanes call run().
template <class Lanes>
class Planner {
 public:
  MLA_HOST_DEVICE Planner(const PlanProblem& problem, const PlanView& plan, Lanes& lanes, State& state)
      : problem_(problem), plan_(plan), lanes_(lanes), state_(state) {}

  MLA_HOST_DEVICE void run() {
    const Totals tiles = lay_out_tiles();
    if (tiles.refused > 0) return;
    const Line line(problem_, plan_.line, tiles.count);
    const Choice choice = choose(line, tiles.largest);
    lanes_.parallel(workers() + 1, [&](std::int32_t w) { plan_.cuts[w] = line.cut(choice.candidate, w); });
    // A removed cut lowers one worker's cost, which may allow another removal: the second round finds most of these.
    MLA_NO_UNROLL
    for (int round = 0; round < 2 && choice.splits > 1; ++round) {
      remove_cuts(line, choice.busiest, 1);
      remove_cuts(line, choice.busiest, 2);
    }
    const Totals works = number_works(line);
    const std::int32_t splits = works.reductions > 0 ? count_splits() : 1;
    write_works(line, header_of(tiles, works, splits, choice.equal_makespan));
  }

 private:
  struct Choice {
    Candidate candidate;
    std::int64_t busiest;
    std::int64_t splits;
    std::int64_t equal_makespan;
  };

  MLA_HOST_DEVICE std::int32_t workers() const { return problem_.num_workers; }
  MLA_HOST_DEVICE std::int32_t batch() const { return problem_.batch.batch; }

  // Arrays that break the limits would lead out of the workspace: nothing is planned then, and the header says why.
  MLA_HOST_DEVICE void refuse(PlanError error, std::int32_t request) {
    MLA_NO_UNROLL
    for (std::int32_t w = 0; w <= workers(); ++w) plan_.work_indptr[w] = 0;
    MLA_NO_UNROLL
    for (std::int32_t w = 0; w < workers(); ++w) plan_.starts[w] = WorkerStart{};
    PlanHeader header;
    header.error = error;
    header.error_request = request;
    *plan_.header = header;
  }

  MLA_HOST_DEVICE std::int64_t line_length(const Request& request, std::int32_t tile) const {
    const std::int64_t step = problem_.tile.tokens;
    return problem_.cost.work + ((request.kv_end(tile) + step - 1) & -step);
  }

  // The line takes the first row tiles of all requests, then the second ones, and so on. Workers that are as far in
  // their part as each other then read the KV of the same requests at about the same time, and all but the first of
  // them find it in the cache. Measured on an H200 at 128 heads: about 10 % over one request after the other, where a
  // worker comes back to a request's KV when it has long left the cache.
  //
  // Totals::refused is above zero where the plan is: larger for earlier requests, so that the first one is reported.
  MLA_HOST_DEVICE Totals lay_out_tiles() {
    if (batch() < 0 || batch() > problem_.max_batch) {
      lanes_.parallel(1, [&](std::int32_t) { refuse(PlanError::batch, -1); });
      Totals refusal{};
      refusal.refused = 1;
      return refusal;
    }
    const std::int32_t places = batch() * row_tiles(problem_.heads, problem_.max_q_len, problem_.tile.rows);
    const auto tile_of = [&](std::int32_t place) {
      Totals sum{};
      if (place >= places) return sum;
      const std::int32_t b = place % batch();
      const Request request(problem_, b);
      if (request.error(problem_) != PlanError::none) {
        sum.refused = batch() - b;
        return sum;
      }
      const std::int32_t row_tile = place / batch();
      if (row_tile >= request.tiles()) return sum;
      sum.count = 1;
      sum.line = line_length(request, row_tile);
      sum.largest = sum.line;
      return sum;
    };
    // One more than there are places: the end of the line.
    return lanes_.scan(places + 1, tile_of, [&](std::int32_t place, const Totals& start, const Totals& total) {
      if (total.refused > 0) {
        const std::int32_t first = batch() - total.refused;
        if (place == first) refuse(Request(problem_, first).error(problem_), first);
        return;
      }
      if (place == places) {
        plan_.line[start.count] = start.line;
        return;
      }
      const std::int32_t b = place % batch();
      const std::int32_t row_tile = place / batch();
      if (row_tile >= Request(problem_, b).tiles()) return;
      plan_.tile_request[start.count] = b;
      plan_.tile_row_tile[start.count] = row_tile;
      plan_.line[start.count] = start.line;
    });
  }

  MLA_HOST_DEVICE std::int64_t most_splits() const {
    return problem_.split_limit > 0 ? problem_.split_limit : workers();
  }

  /// The makespan of `pieces` equal pieces a tile where no worker gets two: the largest tile, of `largest` steps,
  /// decides.
  MLA_HOST_DEVICE std::int64_t one_wave_makespan(std::int64_t pieces, std::int64_t largest) const {
    const std::int64_t splits = smaller(pieces, larger(largest, 1));
    const std::int64_t busiest = problem_.cost.work + (splits > 1 ? problem_.cost.partial : 0) +
                                 divide_up(largest, pieces) * problem_.tile.tokens;
    return makespan(problem_.cost, busiest, splits);
  }

  // A maximum of one integer that ranks by makespan, the smallest first, and then by `order`, the smallest first.
  static constexpr std::int64_t kAboveAnyMakespan = std::int64_t{1} << 48;
  static constexpr std::int64_t kAboveAnyOrder = kMaxWorkers + 1;
  MLA_HOST_DEVICE static constexpr std::int64_t rank(std::int64_t makespan, std::int64_t order) {
    return (kAboveAnyMakespan - makespan) * kAboveAnyOrder + (kAboveAnyOrder - 1 - order);
  }
  MLA_HOST_DEVICE static constexpr std::int64_t order_of(std::int64_t rank) {
    return kAboveAnyOrder - 1 - rank % kAboveAnyOrder;
  }
  MLA_HOST_DEVICE static constexpr std::int64_t makespan_of(std::int64_t rank) {
    return kAboveAnyMakespan - rank / kAboveAnyOrder;
  }

  /// The best such number of pieces; the smallest of equals.
  MLA_HOST_DEVICE std::int64_t best_equal_split(const Line& line, std::int64_t largest) {
    const auto choices = static_cast<std::int32_t>(smaller(divide(workers(), larger(line.tiles(), 1)), most_splits()));
    if (choices < 2 || largest < 2) return 1;
    lanes_.maxima(
        1, choices,
        [&](std::int32_t, std::int32_t i) {
          return Maxima{rank(one_wave_makespan(i + 1, largest), i + 1), 0};
        },
        &state_.best);
    return order_of(state_.best.first);
  }

  /// A makespan that some candidate reaches: it bounds the pieces that are still worth a look.
  MLA_HOST_DEVICE std::int64_t upper_bound(const Line& line, std::int64_t best_equal, std::int64_t largest) const {
    const CostModel& cost = problem_.cost;
    const std::int64_t step = even_step(0, line, largest);
    const std::int64_t pieces = divide(cost.work + largest * problem_.tile.tokens, step) + 2;
    const std::int64_t busiest = step + cost.work + 2 * static_cast<std::int64_t>(cost.partial) + problem_.tile.tokens;
    const std::int64_t even = pieces <= most_splits() ? makespan(cost, busiest, pieces) : INT64_MAX;
    return line.tiles() > workers() ? even : smaller(even, one_wave_makespan(best_equal, largest));
  }

  MLA_HOST_DEVICE std::int64_t mean_length(const Line& line) const {
    return larger(divide_up(line.length(), workers()), 1);
  }

  // Not below the step at which the largest tile meets the split limit: shorter ones would all be refused.
  MLA_HOST_DEVICE MLA_NO_INLINE std::int64_t even_step(std::int32_t index, const Line& line,
                                                       std::int64_t largest) const {
    const std::int64_t eighths = index < 8 ? 8 + index : static_cast<std::int64_t>(4 + index % 4) << (index / 4);
    const std::int64_t shortest = divide_up(problem_.cost.work + largest * problem_.tile.tokens, most_splits());
    return larger(larger(mean_length(line), shortest) * eighths / 8, problem_.tile.tokens);
  }

  MLA_HOST_DEVICE Candidate candidate(std::int32_t index, const Line& line, std::int64_t best_equal,
                                      std::int64_t largest, std::int64_t bound) const {
    const std::int64_t tiles = line.tiles();
    if (index < kEqualCandidates) {
      const std::int64_t first_to_fill = divide_up(workers(), larger(tiles, 1));
      const std::int64_t pieces = index == 0 ? 1 : (index == 1 ? best_equal : first_to_fill);
      // Pieces smaller than a step do not exist: more of them than the largest tile has steps never pay.
      return {Family::equal, pieces, index == 0 || (pieces > 1 && pieces <= most_splits() && pieces <= largest)};
    }
    index -= kEqualCandidates;
    if (index < kWholeCandidates) return {Family::whole, mean_length(line) * (16 + index) / 16, tiles > workers()};
    index -= kWholeCandidates;
    const std::int64_t step = even_step(index, line, largest);
    // The first worker's cost is its length but for the move of the cut, at most back over a tile's fixed part.
    const bool within = step - larger(problem_.cost.work, problem_.tile.tokens) <= bound;
    const bool repeated = index > 0 && step == even_step(index - 1, line, largest);
    return {Family::even, step, most_splits() > 1 && workers() > 1 && !repeated && (within || index == 0)};
  }

  // Lists the candidates that may be chosen, those that split nothing first and then the larger pieces: the first of
  // equals wins.
  MLA_HOST_DEVICE void list_candidates(const Line& line, std::int64_t largest) {
    const std::int64_t best_equal = best_equal_split(line, largest);
    const std::int64_t bound = upper_bound(line, best_equal, largest);
    lanes_.parallel(kCandidates, [&](std::int32_t c) {
      const std::int32_t from_the_end = kCandidates - 1 - (c - kEqualCandidates - kWholeCandidates);
      const std::int32_t index = c < kEqualCandidates + kWholeCandidates ? c : from_the_end;
      state_.candidates[c] = candidate(index, line, best_equal, largest, bound);
    });
    lanes_.parallel(kCandidates, [&](std::int32_t c) {
      std::int32_t place = 0;
      for (std::int32_t i = 0; i < kCandidates; ++i) place += i < c && state_.candidates[i].allowed ? 1 : 0;
      if (state_.candidates[c].allowed) state_.allowed[place] = c;
      if (c == kCandidates - 1) state_.num_allowed = place + (state_.candidates[c].allowed ? 1 : 0);
    });
  }

  MLA_HOST_DEVICE Choice choose(const Line& line, std::int64_t largest_length) {
    if (line.tiles() == 0) return {{Family::equal, 1, true}, 0, 0, 0};
    list_candidates(line, divide(largest_length - problem_.cost.work, problem_.tile.tokens));
    lanes_.maxima(
        state_.num_allowed, workers(),
        [&](std::int32_t i, std::int32_t w) {
          const Candidate& candidate = state_.candidates[state_.allowed[i]];
          PlanCut begin;
          PlanCut end;
          // A loop, so that targets that must not call have one copy of cut().
          MLA_NO_UNROLL
          for (std::int32_t side = 0; side < 2; ++side) {
            begin = end;
            end = line.cut(candidate, w + side);
          }
          return Maxima{line.cost(begin, end), line.splits(candidate, w, begin, end)};
        },
        state_.costs);
    lanes_.maxima(
        1, state_.num_allowed,
        [&](std::int32_t, std::int32_t i) {
          const Maxima& costs = state_.costs[i];
          if (costs.second > most_splits()) return Maxima{};
          const std::int64_t found = rank(makespan(problem_.cost, costs.first, costs.second), i);
          return Maxima{found, state_.candidates[state_.allowed[i]].family == Family::equal ? found : 0};
        },
        &state_.best);
    const auto best = static_cast<std::int32_t>(order_of(state_.best.first));
    return {state_.candidates[state_.allowed[best]], state_.costs[best].first, state_.costs[best].second,
            makespan_of(state_.best.second)};
  }

  // Moves cuts w = first, first + 2, ... to the nearer or else the other end of their tile, where neither neighbouring
  // cut lies in the tile on that side and the worker that takes the rest over stays within the limit. Only every other
  // cut in one phase: the two workers that a move concerns are then no other move's.
  MLA_HOST_DEVICE void remove_cuts(const Line& line, std::int64_t limit, std::int32_t first) {
    lanes_.parallel((workers() - first + 1) / 2, [&](std::int32_t i) {
      const std::int32_t w = first + 2 * i;
      const PlanCut here = plan_.cuts[w];
      if (here.block == 0) return;
      const PlanCut previous = plan_.cuts[w - 1];
      const PlanCut next = plan_.cuts[w + 1];
      const PlanCut end_of_tile{here.tile + 1, 0};
      const PlanCut start_of_tile{here.tile, 0};
      if (!before(next, end_of_tile) && line.cost(previous, end_of_tile) <= limit) {
        plan_.cuts[w] = end_of_tile;
      } else if (!before(start_of_tile, previous) && line.cost(start_of_tile, next) <= limit) {
        plan_.cuts[w] = start_of_tile;
      }
    });
  }

  /// True where the worker between the cuts begins a tile that another one goes on with.
  MLA_HOST_DEVICE static constexpr bool begins_split_tile(const PlanCut& begin, const PlanCut& end) {
    return end.block > 0 && (begin.tile < end.tile || begin.block == 0);
  }

  // Slots and reductions are numbered along the line, so that the slots of a tile follow each other.
  MLA_HOST_DEVICE Totals number_works(const Line& line) {
    const auto count = [&](std::int32_t w) {
      const PlanCut begin = plan_.cuts[w];
      const PlanCut end = plan_.cuts[w + 1];
      Totals sum{};
      sum.line = line.cost(begin, end);
      sum.largest = sum.line;
      sum.count = line.works(begin, end);
      sum.slots = line.partials(begin, end);
      sum.reductions = begins_split_tile(begin, end) ? 1 : 0;
      sum.busy = sum.count > 0 ? 1 : 0;
      return sum;
    };
    return lanes_.scan(workers(), count, [&](std::int32_t w, const Totals& start, const Totals& total) {
      plan_.work_indptr[w] = start.count;
      plan_.worker_slots[w] = start.slots;
      if (w == 0) plan_.work_indptr[workers()] = total.count;
      const PlanCut begin = plan_.cuts[w];
      const PlanCut end = plan_.cuts[w + 1];
      if (same(begin, end)) return;
      std::int32_t slot = start.slots;
      if (begin.block > 0) plan_.slot_reduction[slot++] = start.reductions - 1;
      if (!begins_split_tile(begin, end)) return;
      plan_.slot_reduction[slot] = start.reductions;
      plan_.arrivals[start.reductions] = 0;
      plan_.reductions[start.reductions] = reduction_of(end.tile, slot);
    });
  }

  MLA_HOST_DEVICE Reduction reduction_of(std::int32_t tile, std::int32_t slot_begin) const {
    const Work work = whole_tile(tile);
    Reduction reduction;
    reduction.request = work.request;
    reduction.q_token = work.q_token;
    reduction.row_begin = work.row_begin;
    reduction.row_count = work.row_count;
    reduction.slot_begin = slot_begin;
    return reduction;
  }

  // A tile's last piece is its worker's first work: the distance of its slot from the first piece's counts the pieces.
  // Returns the largest number of splits.
  MLA_HOST_DEVICE std::int32_t count_splits() {
    lanes_.maxima(
        1, workers(),
        [&](std::int32_t, std::int32_t w) {
          const PlanCut begin = plan_.cuts[w];
          if (begin.block == 0 || plan_.cuts[w + 1].tile == begin.tile) return Maxima{};
          const std::int32_t slot = plan_.worker_slots[w];
          Reduction& reduction = plan_.reductions[plan_.slot_reduction[slot]];
          reduction.splits = slot - reduction.slot_begin + 1;
          return Maxima{reduction.splits, 0};
        },
        &state_.best);
    return static_cast<std::int32_t>(larger(state_.best.first, 1));
  }

  MLA_HOST_DEVICE MLA_NO_INLINE Work whole_tile(std::int32_t tile) const {
    const std::int32_t b = plan_.tile_request[tile];
    const Request request(problem_, b);
    const std::int32_t of_request = plan_.tile_row_tile[tile];
    Work work;
    work.request = b;
    work.q_token = request.q_begin();
    work.row_begin = request.row_begin(of_request);
    work.row_count = request.row_end(of_request) - work.row_begin;
    work.kv_end = request.kv_end(of_request);
    work.visible = request.visible();
    work.first_page = request.first_page();
    return work;
  }

  // Every worker has at least its start to write.
  MLA_HOST_DEVICE void write_works(const Line& line, const PlanHeader& header) {
    const auto works_of = [&](std::int32_t w) { return line.works(plan_.cuts[w], plan_.cuts[w + 1]); };
    lanes_.rows(
        workers() + 1,
        [&](std::int32_t w) { return w < workers() ? static_cast<std::int32_t>(larger(works_of(w), 1)) : 1; },
        [&](std::int32_t w, std::int32_t i) {
          if (w == workers()) {
            *plan_.header = header;
            return;
          }
          const std::int32_t first = plan_.work_indptr[w];
          WorkerStart start;
          start.first_work = first;
          start.end_work = first + works_of(w);
          if (first < start.end_work) {
            start.first = work_of(w, i);
            plan_.works[first + i] = start.first;
          }
          if (i == 0) plan_.starts[w] = start;
        });
  }

  MLA_HOST_DEVICE Work work_of(std::int32_t w, std::int32_t i) const {
    const PlanCut begin = plan_.cuts[w];
    const PlanCut end = plan_.cuts[w + 1];
    const std::int32_t tile = begin.tile + i;
    Work work = whole_tile(tile);
    const bool begins_within = i == 0 && begin.block > 0;
    const bool ends_within = tile == end.tile;
    if (begins_within) work.kv_begin = begin.block * problem_.tile.tokens;
    if (ends_within) work.kv_end = end.block * problem_.tile.tokens;
    if (begins_within || ends_within) {
      work.slot = plan_.worker_slots[w] + (!begins_within && begin.block > 0 ? 1 : 0);
    }
    return work;
  }

  MLA_HOST_DEVICE PlanHeader header_of(const Totals& tiles, const Totals& works, std::int32_t splits,
                                       std::int64_t equal_makespan) const {
    PlanHeader header;
    header.num_works = works.count;
    header.num_reductions = works.reductions;
    header.num_slots = works.slots;
    header.max_splits = tiles.count > 0 ? splits : 0;
    header.num_tiles = tiles.count;
    header.busy_workers = works.busy;
    header.makespan = makespan(problem_.cost, works.largest, splits);
    header.equal_split_makespan = equal_makespan;
    header.total_cost = works.line;
    return header;
  }

  const PlanProblem& problem_;
  const PlanView& plan_;
  Lanes& lanes_;
  State& state_;
};

}  // namespace mla::plan
