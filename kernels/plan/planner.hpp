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
  Maxima costs[kCandidates];  // busiest worker, largest number of splits
  Maxima extreme;             // result of a search over one row
  Maxima splits;              // largest number of splits of the plan
  std::int64_t cuts_limit;    // cost of the busiest worker, which removing cuts must not raise
  std::int64_t equal_makespan;
  Candidate chosen;
};

MLA_HOST_DEVICE constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
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

/// The makespan that a busiest worker and a number of splits amount to.
MLA_HOST_DEVICE constexpr std::int64_t makespan(const CostModel& cost, std::int64_t busiest, std::int64_t splits) {
  return splits > 1 ? busiest + cost.merge + cost.merge_per_split * splits : busiest;
}

/// Lengths of one request, and of one of its tiles.
class Request {
 public:
  MLA_HOST_DEVICE constexpr Request(const PlanProblem& problem, std::int32_t request)
      : heads_(problem.heads),
        rows_(problem.tile.rows),
        causal_(problem.causal),
        q_len_(problem.batch.query_length(request)),
        kv_len_(static_cast<std::int32_t>(problem.batch.kv_length(request, problem.page_size))) {}

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
  std::int32_t q_len_;
  std::int32_t kv_len_;
};

/// The tiles of a batch on their line, and the cost of what lies between two cuts.
class Line {
 public:
  MLA_HOST_DEVICE constexpr Line(const PlanProblem& problem, const std::int64_t* starts, std::int32_t tiles)
      : cost_(problem.cost),
        tokens_(problem.tile.tokens),
        workers_(problem.num_workers),
        starts_(starts),
        tiles_(tiles) {}

  MLA_HOST_DEVICE constexpr std::int32_t tiles() const { return tiles_; }
  MLA_HOST_DEVICE constexpr std::int64_t length() const { return starts_[tiles_]; }
  /// Steps of a tile: whole ones, the last may be partly masked.
  MLA_HOST_DEVICE constexpr std::int64_t blocks(std::int32_t tile) const {
    return (starts_[tile + 1] - starts_[tile] - cost_.work) / tokens_;
  }

  /// Where `candidate` begins worker `worker`'s part.
  MLA_HOST_DEVICE constexpr PlanCut cut(const Candidate& candidate, std::int32_t worker) const {
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
  MLA_HOST_DEVICE constexpr std::int64_t cost(const PlanCut& begin, const PlanCut& end) const {
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
      const std::int64_t last = (starts_[end.tile + 1] - tokens_ / 2 - 1) / candidate.step;
      return smaller(last, workers_ - 1) - worker + 1;
    }
    std::int64_t pieces = 2;
    PlanCut previous = end;
    for (std::int32_t next = worker + 2; next < workers_; ++next) {
      const PlanCut following = cut(candidate, next);
      if (following.tile != end.tile) break;
      if (!same(following, previous)) ++pieces;
      previous = following;
    }
    return pieces;
  }

 private:
  MLA_HOST_DEVICE constexpr std::int64_t position(const PlanCut& cut) const {
    return starts_[cut.tile] + (cut.block > 0 ? cost_.work + static_cast<std::int64_t>(cut.block) * tokens_ : 0);
  }

  /// The last tile that begins at or before `position`, which is below length().
  MLA_HOST_DEVICE constexpr std::int32_t tile_at(std::int64_t position) const {
    std::int32_t low = 0;
    std::int32_t high = tiles_;
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
    const std::int64_t block = (offset + tokens_ / 2) / tokens_;
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
    const std::int64_t piece = count <= workers_ ? worker : worker * count / workers_;
    if (piece >= count) return {tiles_, 0};
    const auto tile = static_cast<std::int32_t>(piece / pieces);
    return {tile, static_cast<std::int32_t>(blocks(tile) * (piece % pieces) / pieces)};
  }

  CostModel cost_;
  std::int32_t tokens_;
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
    if (refused()) return;
    const std::int32_t tiles = lay_out_tiles();
    const Line line(problem_, plan_.line, tiles);
    choose_candidate(line);
    lanes_.parallel(workers() + 1, [&](std::int32_t w) { plan_.cuts[w] = line.cut(state_.chosen, w); });
    // A removed cut lowers one worker's cost, which may allow another removal: the second round finds most of these.
    for (int round = 0; round < 2; ++round) {
      remove_cuts(line, 1);
      remove_cuts(line, 2);
    }
    const Sums sums = number_works(line);
    write_works(line);
    write_reductions(sums);
    write_header(line, sums);
  }

 private:
  MLA_HOST_DEVICE std::int32_t workers() const { return problem_.num_workers; }
  MLA_HOST_DEVICE std::int32_t batch() const { return problem_.batch.batch; }

  MLA_HOST_DEVICE PlanError error_of(std::int32_t request) const {
    const RaggedBatchView& view = problem_.batch;
    const std::int32_t q_len = view.query_length(request);
    if (view.qo_indptr[request] < 0 || q_len < 0 || q_len > problem_.max_q_len) return PlanError::query;
    if (view.qo_indptr[request + 1] - view.qo_indptr[0] > problem_.max_total_q) return PlanError::query;
    const std::int64_t pages = static_cast<std::int64_t>(view.kv_indptr[request + 1]) - view.kv_indptr[request];
    if (pages < 0 || view.kv_indptr[request] < 0) return PlanError::kv_length;
    if (pages == 0) return PlanError::none;
    const std::int32_t last = view.kv_last_page_len[request];
    const bool fits =
        last >= 1 && last <= problem_.page_size && (pages - 1) * problem_.page_size + last <= kMaxKvLength;
    return fits ? PlanError::none : PlanError::kv_length;
  }

  // An array that breaks the limits would lead out of the workspace: nothing is planned then, and the header says why.
  MLA_HOST_DEVICE bool refused() {
    if (batch() < 0 || batch() > problem_.max_batch) {
      write_empty(PlanError::batch, -1);
      return true;
    }
    lanes_.maxima(
        1, batch(),
        [&](std::int32_t, std::int32_t b) {
          const bool bad = error_of(b) != PlanError::none;
          return Maxima{bad ? batch() - b : 0, 0};
        },
        &state_.extreme);
    if (state_.extreme.first == 0) return false;
    const auto request = static_cast<std::int32_t>(batch() - state_.extreme.first);
    write_empty(error_of(request), request);
    return true;
  }

  MLA_HOST_DEVICE void write_empty(PlanError error, std::int32_t request) {
    lanes_.parallel(workers() + 1, [&](std::int32_t w) {
      plan_.work_indptr[w] = 0;
      if (w > 0) return;
      PlanHeader header;
      header.error = error;
      header.error_request = request;
      *plan_.header = header;
    });
  }

  MLA_HOST_DEVICE std::int64_t line_length(const Request& request, std::int32_t tile) const {
    return problem_.cost.work + divide_up(request.kv_end(tile), problem_.tile.tokens) * problem_.tile.tokens;
  }

  MLA_HOST_DEVICE std::int32_t lay_out_tiles() {
    const Sums sums = lanes_.scan(
        batch(),
        [&](std::int32_t b) {
          const Request request(problem_, b);
          Sums sum{};
          sum.count = request.tiles();
          for (std::int32_t t = 0; t < sum.count; ++t) sum.line += line_length(request, t);
          return sum;
        },
        [&](std::int32_t b, Sums start) {
          const Request request(problem_, b);
          plan_.tile_indptr[b] = start.count;
          for (std::int32_t t = 0; t < request.tiles(); ++t) {
            plan_.tile_request[start.count + t] = b;
            plan_.line[start.count + t] = start.line;
            start.line += line_length(request, t);
          }
        });
    lanes_.parallel(1, [&](std::int32_t) {
      plan_.tile_indptr[batch()] = sums.count;
      plan_.line[sums.count] = sums.line;
    });
    return sums.count;
  }

  MLA_HOST_DEVICE std::int64_t most_splits() const {
    return problem_.split_limit > 0 ? problem_.split_limit : workers();
  }

  MLA_HOST_DEVICE std::int64_t largest_tile(const Line& line) {
    lanes_.maxima(
        1, line.tiles(),
        [&](std::int32_t, std::int32_t t) {
          return Maxima{line.blocks(t), 0};
        },
        &state_.extreme);
    return state_.extreme.first;
  }

  /// The makespan of `pieces` equal pieces a tile where no worker gets two: the largest tile, of `largest` steps,
  /// decides.
  MLA_HOST_DEVICE std::int64_t equal_makespan(std::int64_t pieces, std::int64_t largest) const {
    const std::int64_t splits = smaller(pieces, larger(largest, 1));
    const std::int64_t busiest = problem_.cost.work + (splits > 1 ? problem_.cost.partial : 0) +
                                 divide_up(largest, pieces) * problem_.tile.tokens;
    return makespan(problem_.cost, busiest, splits);
  }

  /// The best such number of pieces; the smallest of equals.
  MLA_HOST_DEVICE std::int64_t best_equal_split(const Line& line, std::int64_t largest) {
    const auto choices = static_cast<std::int32_t>(smaller(workers() / larger(line.tiles(), 1), most_splits()));
    if (choices < 2 || largest < 2) return 1;
    // The smallest as a maximum of one integer that ranks by makespan first and then by the number of pieces.
    constexpr std::int64_t kAboveAnyMakespan = std::int64_t{1} << 48;
    constexpr std::int64_t kAboveAnyCount = kMaxWorkers + 1;
    lanes_.maxima(
        1, choices,
        [&](std::int32_t, std::int32_t i) {
          const std::int64_t pieces = i + 1;
          const std::int64_t rank = kAboveAnyMakespan - equal_makespan(pieces, largest);
          return Maxima{rank * kAboveAnyCount + (kAboveAnyCount - 1 - pieces), 0};
        },
        &state_.extreme);
    return kAboveAnyCount - 1 - state_.extreme.first % kAboveAnyCount;
  }

  /// A makespan that some candidate reaches: it bounds the pieces that are still worth a look.
  MLA_HOST_DEVICE std::int64_t upper_bound(const Line& line, std::int64_t best_equal, std::int64_t largest) const {
    const CostModel& cost = problem_.cost;
    const std::int64_t step = even_step(0, line, largest);
    const std::int64_t pieces = (cost.work + largest * problem_.tile.tokens) / step + 2;
    const std::int64_t busiest = step + cost.work + 2 * static_cast<std::int64_t>(cost.partial) + problem_.tile.tokens;
    const std::int64_t even = pieces <= most_splits() ? makespan(cost, busiest, pieces) : INT64_MAX;
    return line.tiles() > workers() ? even : smaller(even, equal_makespan(best_equal, largest));
  }

  MLA_HOST_DEVICE std::int64_t mean_length(const Line& line) const {
    return larger(divide_up(line.length(), workers()), 1);
  }

  // Not below the step at which the largest tile meets the split limit: shorter ones would all be refused.
  MLA_HOST_DEVICE std::int64_t even_step(std::int32_t index, const Line& line, std::int64_t largest) const {
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
      return {Family::equal, pieces, pieces <= most_splits() && (index == 0 || pieces > 1) && tiles > 0};
    }
    index -= kEqualCandidates;
    if (index < kWholeCandidates) return {Family::whole, mean_length(line) * (16 + index) / 16, tiles > workers()};
    index -= kWholeCandidates;
    const std::int64_t step = even_step(index, line, largest);
    // The first worker's cost is its length but for the move of the cut, at most back over a tile's fixed part.
    const bool within = step - larger(problem_.cost.work, problem_.tile.tokens) <= bound;
    const bool repeated = index > 0 && step == even_step(index - 1, line, largest);
    return {Family::even, step, most_splits() > 1 && workers() > 1 && tiles > 0 && !repeated && (within || index == 0)};
  }

  MLA_HOST_DEVICE void choose_candidate(const Line& line) {
    const std::int64_t largest = largest_tile(line);
    const std::int64_t best_equal = best_equal_split(line, largest);
    const std::int64_t bound = upper_bound(line, best_equal, largest);
    lanes_.parallel(kCandidates,
                    [&](std::int32_t c) { state_.candidates[c] = candidate(c, line, best_equal, largest, bound); });
    lanes_.maxima(
        kCandidates, workers(),
        [&](std::int32_t c, std::int32_t w) {
          const Candidate& candidate = state_.candidates[c];
          if (!candidate.allowed) return Maxima{};
          const PlanCut begin = line.cut(candidate, w);
          const PlanCut end = line.cut(candidate, w + 1);
          return Maxima{line.cost(begin, end), line.splits(candidate, w, begin, end)};
        },
        state_.costs);
    lanes_.parallel(1, [&](std::int32_t) { pick(); });
  }

  // Candidates that split nothing come first and win ties; among the even ones, fewer and larger pieces do.
  MLA_HOST_DEVICE void pick() {
    std::int64_t best = -1;
    state_.equal_makespan = 0;
    state_.cuts_limit = 0;
    state_.chosen = {Family::equal, 1, true};
    for (std::int32_t i = 0; i < kCandidates; ++i) {
      const std::int32_t c =
          i < kEqualCandidates + kWholeCandidates ? i : kCandidates - 1 - (i - kEqualCandidates - kWholeCandidates);
      if (!state_.candidates[c].allowed || state_.costs[c].second > most_splits()) continue;
      const std::int64_t total = makespan(problem_.cost, state_.costs[c].first, state_.costs[c].second);
      if (best < 0 || total < best) {
        best = total;
        state_.chosen = state_.candidates[c];
        state_.cuts_limit = state_.costs[c].first;
      }
      if (c < kEqualCandidates) state_.equal_makespan = best;
    }
  }

  // Moves cuts w = first, first + 2, ... to the nearer or else the other end of their tile, where neither neighbouring
  // cut lies in the tile on that side and the worker that takes the rest over stays within the limit. Only every other
  // cut in one phase: the two workers that a move concerns are then no other move's.
  MLA_HOST_DEVICE void remove_cuts(const Line& line, std::int32_t first) {
    lanes_.parallel((workers() - first + 1) / 2, [&](std::int32_t i) {
      const std::int32_t w = first + 2 * i;
      const PlanCut here = plan_.cuts[w];
      if (here.block == 0) return;
      const PlanCut previous = plan_.cuts[w - 1];
      const PlanCut next = plan_.cuts[w + 1];
      const PlanCut end_of_tile{here.tile + 1, 0};
      const PlanCut start_of_tile{here.tile, 0};
      if (!before(next, end_of_tile) && line.cost(previous, end_of_tile) <= state_.cuts_limit) {
        plan_.cuts[w] = end_of_tile;
      } else if (!before(start_of_tile, previous) && line.cost(start_of_tile, next) <= state_.cuts_limit) {
        plan_.cuts[w] = start_of_tile;
      }
    });
  }

  /// True where the worker between the cuts begins a tile that another one goes on with.
  MLA_HOST_DEVICE static constexpr bool begins_split_tile(const PlanCut& begin, const PlanCut& end) {
    return end.block > 0 && (begin.tile < end.tile || begin.block == 0);
  }

  MLA_HOST_DEVICE Sums number_works(const Line& line) {
    const auto count = [&](std::int32_t w) {
      const PlanCut begin = plan_.cuts[w];
      const PlanCut end = plan_.cuts[w + 1];
      Sums sum{};
      sum.line = line.cost(begin, end);
      sum.count = line.works(begin, end);
      sum.slots = line.partials(begin, end);
      sum.reductions = begins_split_tile(begin, end) ? 1 : 0;
      sum.busy = sum.count > 0 ? 1 : 0;
      return sum;
    };
    const Sums sums = lanes_.scan(workers(), count, [&](std::int32_t w, const Sums& start) {
      plan_.work_indptr[w] = start.count;
      plan_.worker_slots[w] = start.slots;
      const PlanCut begin = plan_.cuts[w];
      const PlanCut end = plan_.cuts[w + 1];
      if (!begins_split_tile(begin, end)) return;
      Reduction reduction;
      const Work tile = whole_tile(end.tile);
      reduction.request = tile.request;
      reduction.q_token = tile.q_token;
      reduction.row_begin = tile.row_begin;
      reduction.row_count = tile.row_count;
      // Its first piece is the worker's last work; a partial at the worker's beginning is of another tile.
      reduction.slot_begin = start.slots + (begin.block > 0 ? 1 : 0);
      plan_.reductions[start.reductions] = reduction;
    });
    lanes_.parallel(1, [&](std::int32_t) { plan_.work_indptr[workers()] = sums.count; });
    return sums;
  }

  MLA_HOST_DEVICE Work whole_tile(std::int32_t tile) const {
    const std::int32_t b = plan_.tile_request[tile];
    const Request request(problem_, b);
    const std::int32_t of_request = tile - plan_.tile_indptr[b];
    Work work;
    work.request = b;
    work.q_token = problem_.batch.qo_indptr[b];
    work.row_begin = request.row_begin(of_request);
    work.row_count = request.row_end(of_request) - work.row_begin;
    work.kv_end = request.kv_end(of_request);
    work.visible = request.visible();
    return work;
  }

  MLA_HOST_DEVICE void write_works(const Line& line) {
    lanes_.rows(
        workers(), [&](std::int32_t w) { return line.works(plan_.cuts[w], plan_.cuts[w + 1]); },
        [&](std::int32_t w, std::int32_t i) {
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
          plan_.works[plan_.work_indptr[w] + i] = work;
        });
  }

  // Slots are numbered along the line, so a reduction's end where the next one's begin.
  MLA_HOST_DEVICE void write_reductions(const Sums& sums) {
    lanes_.maxima(
        1, sums.reductions,
        [&](std::int32_t, std::int32_t r) {
          const std::int32_t end = r + 1 < sums.reductions ? plan_.reductions[r + 1].slot_begin : sums.slots;
          Reduction& reduction = plan_.reductions[r];
          reduction.splits = end - reduction.slot_begin;
          plan_.arrivals[r] = 0;
          for (std::int32_t s = reduction.slot_begin; s < end; ++s) plan_.slot_reduction[s] = r;
          return Maxima{reduction.splits, 0};
        },
        &state_.splits);
  }

  MLA_HOST_DEVICE void write_header(const Line& line, const Sums& sums) {
    lanes_.maxima(
        1, workers(),
        [&](std::int32_t, std::int32_t w) {
          return Maxima{line.cost(plan_.cuts[w], plan_.cuts[w + 1]), 0};
        },
        &state_.extreme);
    lanes_.parallel(1, [&](std::int32_t) {
      const std::int64_t splits = larger(state_.splits.first, line.tiles() > 0 ? 1 : 0);
      PlanHeader header;
      header.num_works = sums.count;
      header.num_reductions = sums.reductions;
      header.num_slots = sums.slots;
      header.max_splits = static_cast<std::int32_t>(splits);
      header.num_tiles = line.tiles();
      header.busy_workers = sums.busy;
      header.makespan = makespan(problem_.cost, state_.extreme.first, splits);
      header.equal_split_makespan = state_.equal_makespan;
      header.total_cost = sums.line;
      *plan_.header = header;
    });
  }

  const PlanProblem& problem_;
  const PlanView& plan_;
  Lanes& lanes_;
  State& state_;
};

}  // namespace mla::plan
