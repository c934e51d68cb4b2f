#include "suites/plan/plan_case.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace mla::test {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0x5a;
constexpr unsigned char kPoison = 0xa5;

std::int32_t tile_rows_of(const PlanLimits& limits) {
  return tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile).rows;
}

// KV tokens that at least one of the rows [begin, end) of a request sees, row by row as the contract says.
std::int32_t visible_to_any(const PlanCase& problem, std::int32_t request, std::int32_t begin, std::int32_t end) {
  const std::int32_t kv_len = problem.kv_len[request];
  if (!problem.limits.causal) return kv_len;
  std::int32_t most = 0;
  for (std::int32_t token = begin / problem.limits.heads; token <= (end - 1) / problem.limits.heads; ++token) {
    most = std::max(most, kv_len - problem.q_len[request] + token + 1);
  }
  return most;
}

struct Tile {
  std::int32_t request = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::int32_t kv_end = 0;
  std::int32_t pieces = 0;
  std::int32_t covered = 0;  // tokens [0, covered) have been seen
  std::int32_t first_slot = -1;
  bool reduced = false;
};

class Tiles {
 public:
  explicit Tiles(const PlanCase& problem) : rows_(tile_rows_of(problem.limits)) {
    for (std::int32_t request = 0; request < problem.batch(); ++request) {
      first_.push_back(static_cast<std::int32_t>(tiles_.size()));
      const std::int32_t rows = problem.q_len[request] * problem.limits.heads;
      for (std::int32_t begin = 0; begin < rows; begin += rows_) {
        const std::int32_t end = std::min(begin + rows_, rows);
        tiles_.push_back({request, begin, end, visible_to_any(problem, request, begin, end)});
      }
    }
    first_.push_back(static_cast<std::int32_t>(tiles_.size()));
  }

  [[nodiscard]] std::vector<Tile>& all() { return tiles_; }
  [[nodiscard]] const std::vector<Tile>& all() const { return tiles_; }

  // Null where there is no such tile.
  [[nodiscard]] Tile* find(std::int32_t request, std::int32_t row_begin, std::int32_t row_count) {
    if (request < 0 || request + 1 >= static_cast<std::int32_t>(first_.size()) || row_begin < 0) return nullptr;
    const std::int32_t index = first_[request] + row_begin / rows_;
    if (index >= first_[request + 1]) return nullptr;
    Tile& tile = tiles_[index];
    return tile.row_begin == row_begin && tile.row_end == row_begin + row_count ? &tile : nullptr;
  }

 private:
  std::int32_t rows_;
  std::vector<std::int32_t> first_;
  std::vector<Tile> tiles_;
};

class Checker {
 public:
  Checker(const PlanCase& problem, const PlanView& plan)
      : problem_(problem), plan_(plan), layout_(workspace_layout(problem.limits)), tiles_(problem), batch_(problem) {}

  std::string run() {
    if (!header_fits()) return failure_.str();
    for (std::int32_t worker = 0; worker < problem_.limits.num_workers; ++worker) {
      if (!check_worker(worker)) return failure_.str();
    }
    if (check_coverage() && check_reductions()) check_totals();
    return failure_.str();
  }

 private:
  template <class... Words>
  bool require(bool holds, const Words&... words) {
    if (!holds) (failure_ << ... << words);
    return holds;
  }

  bool header_fits() {
    const PlanHeader& header = *plan_.header;
    return require(header.error == PlanError::none, "error ", static_cast<int>(header.error)) &&
           require(header.num_tiles == static_cast<std::int32_t>(tiles_.all().size()), "tiles ", header.num_tiles) &&
           require(header.num_tiles <= layout_.max_tiles, "tiles above the bound") &&
           require(header.num_works >= 0 && header.num_works <= layout_.max_works, "works ", header.num_works) &&
           require(header.num_slots >= 0 && header.num_slots <= layout_.max_slots, "slots ", header.num_slots) &&
           require(header.num_reductions >= 0 && header.num_reductions <= layout_.max_reductions, "reductions ",
                   header.num_reductions) &&
           require(plan_.work_indptr[0] == 0, "work_indptr[0] ", plan_.work_indptr[0]) &&
           require(plan_.work_indptr[problem_.limits.num_workers] == header.num_works, "work_indptr's end");
  }

  bool check_worker(std::int32_t worker) {
    const std::int32_t begin = plan_.work_indptr[worker];
    const std::int32_t end = plan_.work_indptr[worker + 1];
    if (!require(begin <= end && end <= plan_.header->num_works, "work_indptr of worker ", worker)) return false;
    const WorkerStart& start = plan_.starts[worker];
    if (!require(start.first_work == begin && start.end_work == end, "start of worker ", worker) ||
        !require(start.first == (begin < end ? plan_.works[begin] : Work{}), "first work of worker ", worker)) {
      return false;
    }
    std::int64_t load = 0;
    for (std::int32_t i = begin; i < end; ++i) {
      if (!check_work(plan_.works[i])) {
        failure_ << " in work " << i << " of worker " << worker;
        return false;
      }
      const std::int64_t step = layout_.tile.tokens;
      const Work& work = plan_.works[i];
      load += problem_.limits.cost.work + (work.kv_end - work.kv_begin + step - 1) / step * step +
              (work.slot >= 0 ? problem_.limits.cost.partial : 0);
    }
    busiest_ = std::max(busiest_, load);
    total_ += load;
    busy_ += begin < end ? 1 : 0;
    return true;
  }

  bool check_work(const Work& work) {
    Tile* tile = tiles_.find(work.request, work.row_begin, work.row_count);
    if (!require(tile != nullptr, "no such tile: request ", work.request, " rows ", work.row_begin, "+",
                 work.row_count)) {
      return false;
    }
    const std::int32_t q_len = problem_.q_len[work.request];
    const std::int32_t kv_len = problem_.kv_len[work.request];
    for (std::int32_t token = 0; token < q_len; ++token) {
      const std::int32_t sees = problem_.limits.causal ? std::max(0, kv_len - q_len + token + 1) : kv_len;
      if (!require(visible_tokens(work, token, problem_.limits.causal) == sees, "visible ", work.visible)) return false;
    }
    const bool whole = work.kv_begin == 0 && work.kv_end == tile->kv_end;
    const bool ok = require(work.q_token == batch_.qo_indptr[work.request], "q_token ", work.q_token) &&
                    require(work.first_page == batch_.kv_indptr[work.request], "first_page ", work.first_page) &&
                    require(work.kv_begin == tile->covered, "gap or overlap: begins at ", work.kv_begin, ", covered ",
                            tile->covered) &&
                    require(work.kv_begin < work.kv_end || (whole && tile->kv_end == 0), "empty: ", work.kv_begin, "..",
                            work.kv_end) &&
                    require(work.kv_end <= tile->kv_end, "beyond what is visible: ", work.kv_end) &&
                    require(work.kv_begin % layout_.tile.tokens == 0, "begins within a step: ", work.kv_begin) &&
                    require(whole == (work.slot < 0), "slot ", work.slot, " of a ", whole ? "whole" : "split", " tile");
    if (!ok) return false;
    if (work.slot >= 0) {
      if (tile->pieces == 0) tile->first_slot = work.slot;
      if (!require(work.slot == next_slot_ && work.slot == tile->first_slot + tile->pieces, "slot ", work.slot))
        return false;
      ++next_slot_;
    }
    ++tile->pieces;
    tile->covered = work.kv_end;
    return true;
  }

  bool check_coverage() {
    for (const Tile& tile : tiles_.all()) {
      if (!require(tile.pieces > 0 && tile.covered == tile.kv_end, "request ", tile.request, " rows from ",
                   tile.row_begin, ": covered ", tile.covered, " of ", tile.kv_end, " in ", tile.pieces)) {
        return false;
      }
      most_splits_ = std::max(most_splits_, tile.pieces);
      split_tiles_ += tile.pieces > 1 ? 1 : 0;
    }
    return require(next_slot_ == plan_.header->num_slots, "slots ", next_slot_);
  }

  bool check_reductions() {
    if (!require(plan_.header->num_reductions == split_tiles_, "reductions for ", split_tiles_, " split tiles"))
      return false;
    for (std::int32_t r = 0; r < split_tiles_; ++r) {
      const Reduction& reduction = plan_.reductions[r];
      Tile* tile = tiles_.find(reduction.request, reduction.row_begin, reduction.row_count);
      const bool ok =
          require(tile != nullptr && !tile->reduced && tile->pieces > 1, "no such split tile") &&
          require(reduction.slot_begin == tile->first_slot, "slot_begin ", reduction.slot_begin) &&
          require(reduction.splits == tile->pieces, "splits ", reduction.splits) &&
          require(reduction.q_token == batch_.qo_indptr[reduction.request], "q_token ", reduction.q_token) &&
          require(plan_.arrivals[r] == 0, "arrivals not zeroed");
      if (!ok) {
        failure_ << " in reduction " << r;
        return false;
      }
      tile->reduced = true;
      for (std::int32_t s = 0; s < reduction.splits; ++s) {
        if (!require(plan_.slot_reduction[reduction.slot_begin + s] == r, "slot_reduction of slot ", s)) return false;
      }
    }
    return true;
  }

  bool check_totals() {
    const PlanHeader& header = *plan_.header;
    const PlanLimits& limits = problem_.limits;
    const std::int64_t merge =
        most_splits_ > 1 ? limits.cost.merge + std::int64_t{limits.cost.merge_per_split} * most_splits_ : 0;
    return require(header.max_splits == most_splits_, "max_splits ", header.max_splits) &&
           require(limits.split_limit == 0 || most_splits_ <= std::max(limits.split_limit, 1),
                   "split limit: ", most_splits_) &&
           require(header.total_cost == total_, "total_cost ", header.total_cost, ", not ", total_) &&
           require(header.busy_workers == busy_, "busy_workers ", header.busy_workers) &&
           require(header.makespan == busiest_ + merge, "makespan ", header.makespan, ", not ", busiest_ + merge) &&
           require(header.makespan <= header.equal_split_makespan, "makespan ", header.makespan,
                   " above equal split's ", header.equal_split_makespan) &&
           require(most_splits_ <= 1 || header.makespan < equal_split_makespan(problem_, 1), "split without gain");
  }

  const PlanCase& problem_;
  const PlanView& plan_;
  WorkspaceLayout layout_;
  Tiles tiles_;
  RaggedBatch batch_;
  std::ostringstream failure_;
  std::int64_t busiest_ = 0;
  std::int64_t total_ = 0;
  std::int32_t busy_ = 0;
  std::int32_t next_slot_ = 0;
  std::int32_t most_splits_ = 0;
  std::int32_t split_tiles_ = 0;
};

template <class T>
std::string joined(const std::vector<T>& values) {
  std::ostringstream text;
  for (std::size_t i = 0; i < values.size(); ++i) text << (i > 0 ? "+" : "") << values[i];
  return text.str();
}

}  // namespace

std::string to_string(const PlanCase& problem) {
  const PlanLimits& limits = problem.limits;
  std::ostringstream text;
  text << "h=" << limits.heads << ",q=" << joined(problem.q_len) << ",kv=" << joined(problem.kv_len)
       << ",page=" << problem.page_size << ",dtype=" << name_of(limits.q_dtype) << "." << name_of(limits.kv_dtype)
       << ",causal=" << limits.causal << ",cu=" << limits.num_workers << ",splits=" << limits.split_limit
       << " max_q_len=" << limits.max_q_len << " max_batch=" << limits.max_batch
       << " max_total_q=" << limits.max_total_q << " tile rows=" << limits.tile.min_rows << ".." << limits.tile.max_rows
       << " tokens=" << limits.tile.tokens << " cost=" << limits.cost.work << "/" << limits.cost.partial << "/"
       << limits.cost.merge << "/" << limits.cost.merge_per_split;
  return text.str();
}

RaggedBatch::RaggedBatch(const PlanCase& problem) {
  qo_indptr.assign(1, 0);
  kv_indptr.assign(1, 0);
  for (std::int32_t b = 0; b < problem.batch(); ++b) {
    const std::int32_t pages = (problem.kv_len[b] + problem.page_size - 1) / problem.page_size;
    qo_indptr.push_back(qo_indptr.back() + problem.q_len[b]);
    kv_indptr.push_back(kv_indptr.back() + pages);
    // Of a request without pages the value is to be ignored: 1 is what once hung a captured graph, 0 what padding
    // holds.
    kv_last_page_len.push_back(pages == 0 ? b % 2 : problem.kv_len[b] - (pages - 1) * problem.page_size);
  }
  view_.batch = problem.batch();
  view_.qo_indptr = qo_indptr.data();
  view_.kv_indptr = kv_indptr.data();
  view_.kv_last_page_len = kv_last_page_len.data();
}

GuardedPlan::GuardedPlan(const WorkspaceLayout& layout) {
  place("header", view_.header, layout.header);
  place("work_indptr", view_.work_indptr, layout.work_indptr);
  place("starts", view_.starts, layout.starts);
  place("works", view_.works, layout.works);
  place("reductions", view_.reductions, layout.reductions);
  place("slot_reduction", view_.slot_reduction, layout.slot_reduction);
  place("arrivals", view_.arrivals, layout.arrivals);
  place("tile_row_tile", view_.tile_row_tile, layout.tile_row_tile);
  place("tile_request", view_.tile_request, layout.tile_request);
  place("line", view_.line, layout.line);
  place("cuts", view_.cuts, layout.cuts);
  place("worker_slots", view_.worker_slots, layout.worker_slots);
}

template <class T>
void GuardedPlan::place(const char* name, T*& pointer, const WorkspaceRegion& region) {
  Buffer buffer{name, region.bytes, {}};
  buffer.storage.resize((region.bytes + kGuardBytes) / sizeof(std::max_align_t) + 1);
  auto* bytes = reinterpret_cast<unsigned char*>(buffer.storage.data());
  std::memset(bytes, kPoison, region.bytes);
  std::memset(bytes + region.bytes, kGuard, kGuardBytes);
  pointer = static_cast<T*>(static_cast<void*>(bytes));
  buffers_.push_back(std::move(buffer));
}

std::string GuardedPlan::broken_guard() const {
  for (const Buffer& buffer : buffers_) {
    const auto* guard = reinterpret_cast<const unsigned char*>(buffer.storage.data()) + buffer.bytes;
    if (std::any_of(guard, guard + kGuardBytes, [](unsigned char byte) { return byte != kGuard; })) return buffer.name;
  }
  return {};
}

PlanBits bits_of(const PlanView& plan, std::int32_t num_workers) {
  const PlanHeader& header = *plan.header;
  return {header,
          {plan.work_indptr, plan.work_indptr + num_workers + 1},
          {plan.starts, plan.starts + num_workers},
          {plan.works, plan.works + header.num_works},
          {plan.reductions, plan.reductions + header.num_reductions},
          {plan.slot_reduction, plan.slot_reduction + header.num_slots},
          {plan.arrivals, plan.arrivals + header.num_reductions}};
}

std::string broken_invariant(const PlanCase& problem, const PlanView& plan) {
  return Checker(problem, plan).run();
}

std::int64_t equal_split_makespan(const PlanCase& problem, std::int64_t splits) {
  const PlanLimits& limits = problem.limits;
  const TileShape shape = tile_shape(limits.q_dtype, limits.kv_dtype, limits.heads, limits.max_q_len, limits.tile);
  std::vector<Tile> tiles = Tiles(problem).all();
  // The planner's order: all first row tiles, then all second ones.
  std::stable_sort(tiles.begin(), tiles.end(), [](const Tile& a, const Tile& b) { return a.row_begin < b.row_begin; });
  const std::int64_t count = static_cast<std::int64_t>(tiles.size()) * splits;
  std::int64_t busiest = 0;
  std::int64_t most_pieces = count > 0 ? 1 : 0;
  std::int64_t pieces = 0;
  std::int64_t tile_of_pieces = -1;
  // Where there are fewer pieces than workers each is a run of its own.
  const std::int64_t runs = std::min<std::int64_t>(count, limits.num_workers);
  for (std::int64_t run = 0; run < runs; ++run) {
    std::int64_t load = 0;
    const std::int64_t end = (run + 1) * count / runs;
    for (std::int64_t piece = run * count / runs; piece < end;) {
      // Pieces of one tile in one run are read as one.
      const std::int64_t tile = piece / splits;
      const std::int64_t last = std::min(end, (tile + 1) * splits);
      const std::int64_t blocks = (tiles[tile].kv_end + shape.tokens - 1) / shape.tokens;
      const std::int64_t from = blocks * (piece - tile * splits) / splits;
      const std::int64_t to = blocks * (last - tile * splits) / splits;
      // All cuts within a tile without tokens lie at its start: it goes to whoever has its last piece.
      if (from < to || (blocks == 0 && last == (tile + 1) * splits)) {
        const bool split = from > 0 || to < blocks;
        load += limits.cost.work + (to - from) * shape.tokens + (split ? limits.cost.partial : 0);
        pieces = tile == tile_of_pieces ? pieces + 1 : 1;
        tile_of_pieces = tile;
        most_pieces = std::max(most_pieces, pieces);
      }
      piece = last;
    }
    busiest = std::max(busiest, load);
  }
  return most_pieces > 1 ? busiest + limits.cost.merge + limits.cost.merge_per_split * most_pieces : busiest;
}

std::int64_t best_equal_split_makespan(const PlanCase& problem) {
  const auto tiles = static_cast<std::int64_t>(Tiles(problem).all().size());
  const std::int64_t workers = problem.limits.num_workers;
  std::int64_t most = tiles > 0 ? (workers + tiles - 1) / tiles : 1;
  if (problem.limits.split_limit > 0) most = std::min<std::int64_t>(most, problem.limits.split_limit);
  std::int64_t best = equal_split_makespan(problem, 1);
  for (std::int64_t splits = 2; splits <= most; ++splits) best = std::min(best, equal_split_makespan(problem, splits));
  return best;
}

}  // namespace mla::test
