// The split-KV schedule of a decode call: which worker reads which tokens of which request, and what is merged after.
//
// Everything here is plain data that the planner writes into caller-provided memory. One function
// (kernels/plan/planner.hpp) is compiled for the host and for the device and gives the same bits on both; it reads only
// device-visible arrays, so that it can be captured into a graph and replayed with other lengths in the same buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mla/dtype.hpp"
#include "mla/shape.hpp"
#include "mla/status.hpp"
#include "mla/tile.hpp"
#include "mla/view.hpp"

namespace mla {

/// Cost of the parts of a call, in the time one worker needs to read one KV token for one tile. Measured per target.
struct CostModel {
  std::int32_t work = 80;            // fixed cost of a work: q load, pipeline fill, epilogue
  std::int32_t partial = 24;         // more for a work that writes a float32 partial than for one that writes `out`
  std::int32_t merge = 64;           // once, where anything is split: the latency of starting to merge
  std::int32_t merge_per_split = 4;  // times the largest number of splits of a tile
};

/// What a workspace is sized for and a graph is captured with. None of it may change between capture and replay.
struct PlanLimits {
  DataType q_dtype = DataType::bf16;
  DataType kv_dtype = DataType::bf16;
  std::int32_t heads = 0;        // H, 1..128
  std::int32_t max_batch = 0;    // requests, >= 1
  std::int32_t max_total_q = 0;  // query tokens of a whole batch; 0 stands for max_batch * max_q_len
  std::int32_t max_q_len = 1;    // query tokens of one request, 1..8
  std::int32_t num_workers = 0;  // persistent workers, 1..kMaxWorkers; usually one or two a compute unit
  std::int32_t split_limit = 0;  // most splits of one tile; 0: none but the planner's own
  bool causal = true;
  TileLimits tile;
  CostModel cost;
};

inline constexpr std::int32_t kMaxWorkers = 4096;
inline constexpr std::int32_t kMaxBatch = 1 << 20;
/// Largest value of a constant of the cost model: a call's cost must stay within 64 bits.
inline constexpr std::int32_t kMaxCost = 1 << 24;
/// Lengths above this are refused: token positions are int32.
inline constexpr std::int64_t kMaxKvLength = std::int64_t{1} << 30;

/// Consecutive KV tokens of one request for one tile of its query rows.
///
/// Rows of a request are numbered token-major, row = token * H + head, so that rows are contiguous where q is. A work
/// with kv_begin == kv_end exists only for a tile none of whose rows sees a token; it is then the tile's only work, and
/// its worker writes out = 0, lse = -inf. Requests with q_len 0 have no work.
struct alignas(16) Work {
  std::int32_t request = 0;
  std::int32_t q_token = 0;    // qo_indptr[request]: global index of the request's query token 0
  std::int32_t row_begin = 0;  // first row of the tile in the request; a multiple of the tile's rows
  std::int32_t row_count = 0;  // 1..tile rows
  std::int32_t kv_begin = 0;   // tokens from the request's start; a multiple of the tile's tokens
  std::int32_t kv_end = 0;     // exclusive; no row of the tile sees a token at or after the tile's last kv_end
  std::int32_t slot = -1;      // partial result slot, or -1: the work is the whole tile and writes out and lse directly
  std::int32_t visible = 0;    // KV tokens that query token 0 sees, <= 0 for none (see visible_tokens)
  std::int32_t first_page = 0;  // kv_indptr[request]: saves whoever reads the work one more wait for memory
  std::int32_t reserved[3] = {0, 0, 0};

  friend constexpr bool operator==(const Work&, const Work&) = default;
};
static_assert(sizeof(Work) == 48);

/// What a worker must know first, in one piece: every further read that depends on one before costs a launch about a
/// microsecond.
struct alignas(16) WorkerStart {
  Work first;                   // a copy of works[first_work]; empty where the worker has none
  std::int32_t first_work = 0;  // work_indptr[worker]
  std::int32_t end_work = 0;    // work_indptr[worker + 1]
  std::int32_t reserved[2] = {0, 0};

  friend constexpr bool operator==(const WorkerStart&, const WorkerStart&) = default;
};
static_assert(sizeof(WorkerStart) == 64);

/// KV tokens [0, n) of the request that its query token `token` sees.
[[nodiscard]] constexpr std::int32_t visible_tokens(const Work& work, std::int32_t token, bool causal) {
  const std::int32_t count = causal ? work.visible + token : work.visible;
  return count > 0 ? count : 0;
}

/// A tile that was split: merge slots [slot_begin, slot_begin + splits) into its rows of out and lse.
/// Row r of the tile in slot s is partial_out[(s * tile_rows + r) * 512] and partial_lse[s * tile_rows + r]; the splits
/// of a tile follow each other in the order of their tokens.
struct alignas(16) Reduction {
  std::int32_t request = 0;
  std::int32_t q_token = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_count = 0;
  std::int32_t slot_begin = 0;
  std::int32_t splits = 0;  // >= 2
  std::int32_t reserved[2] = {0, 0};

  friend constexpr bool operator==(const Reduction&, const Reduction&) = default;
};
static_assert(sizeof(Reduction) == 32);

/// Why a plan could not be made on the device, where no status can be returned. The plan is then empty (no work, no
/// reduction), so that the kernels after it write nothing.
enum class PlanError : std::int32_t {
  none,
  batch,      // batch outside 0..max_batch
  query,      // a query length outside 0..max_q_len, or qo_indptr beyond max_total_q
  kv_length,  // a KV length outside 0..2^30, or a last page outside 1..page_size
};

struct alignas(16) PlanHeader {
  std::int32_t num_works = 0;
  std::int32_t num_reductions = 0;
  std::int32_t num_slots = 0;
  std::int32_t max_splits = 0;  // over all tiles; 0 where there is no tile
  PlanError error = PlanError::none;
  std::int32_t error_request = -1;
  std::int32_t num_tiles = 0;
  std::int32_t busy_workers = 0;          // workers with at least one work
  std::int64_t makespan = 0;              // predicted, in tokens: busiest worker + merge
  std::int64_t equal_split_makespan = 0;  // the same of the best equal-split plan (see planner.hpp)
  std::int64_t total_cost = 0;            // sum over workers, without the merge

  friend constexpr bool operator==(const PlanHeader&, const PlanHeader&) = default;
};

/// What was refused on the device, as a status: the argument, the request it belongs to and the rule; ok where the plan
/// was made. Give it a host copy of the header, bind_workspace(...).header, once the plan's launch has ended.
[[nodiscard]] Status status_of(const PlanHeader& header);

/// A cut of the sequence of tiles: before block `block` (of tile tokens) of tile `tile`. Planner scratch.
struct PlanCut {
  std::int32_t tile = 0;
  std::int32_t block = 0;
};

/// One array of the workspace: bytes from its start.
struct WorkspaceRegion {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The exact workspace of a decode call, a function of the limits alone. Regions are 256-byte aligned and do not
/// overlap.
struct WorkspaceLayout {
  // The plan, read by decode and merge.
  WorkspaceRegion header;          // PlanHeader [1]
  WorkspaceRegion work_indptr;     // int32 [num_workers + 1]
  WorkspaceRegion starts;          // WorkerStart [num_workers]
  WorkspaceRegion works;           // Work [max_works]
  WorkspaceRegion reductions;      // Reduction [max_reductions]
  WorkspaceRegion slot_reduction;  // int32 [max_slots]: the reduction that a slot belongs to
  WorkspaceRegion arrivals;        // int32 [max_reductions]: zeroed by the planner, for a merge by the last arriver
  // Partial results, written by decode and read by merge.
  WorkspaceRegion partial_lse;  // f32 [max_slots, tile_rows]
  WorkspaceRegion partial_out;  // f32 [max_slots, tile_rows, 512]
  // Scratch of the planner alone.
  WorkspaceRegion tile_row_tile;  // int32 [max_tiles]
  WorkspaceRegion tile_request;   // int32 [max_tiles]
  WorkspaceRegion line;           // int64 [max_tiles + 1]
  WorkspaceRegion cuts;           // PlanCut [num_workers + 1]
  WorkspaceRegion worker_slots;   // int32 [num_workers]
  std::size_t bytes = 0;          // of the whole workspace

  TileShape tile;
  std::int32_t max_tiles = 0;
  std::int32_t max_works = 0;       // max_tiles + num_workers - 1: one more for every cut
  std::int32_t max_reductions = 0;  // num_workers - 1 at most: a split tile holds at least one cut; 0 for one worker
  std::int32_t max_slots = 0;       // 2 * max_reductions: a cut adds at most two partial results
};

/// Query tokens of a whole batch that the limits allow.
[[nodiscard]] std::int32_t total_query_limit(const PlanLimits& limits);

/// Refuses limits outside the contract: heads, batch, query length, workers, types, tile.
Status validate(const PlanLimits& limits);

/// Precondition: validate(limits).ok().
[[nodiscard]] WorkspaceLayout workspace_layout(const PlanLimits& limits);

/// Bytes of workspace: workspace_layout(limits).bytes. Must be 256-byte aligned memory visible to the device.
[[nodiscard]] std::size_t workspace_size(const PlanLimits& limits);

/// The workspace's arrays as typed pointers.
struct PlanView {
  PlanHeader* header = nullptr;
  std::int32_t* work_indptr = nullptr;
  WorkerStart* starts = nullptr;
  Work* works = nullptr;
  Reduction* reductions = nullptr;
  std::int32_t* slot_reduction = nullptr;
  std::int32_t* arrivals = nullptr;
  float* partial_lse = nullptr;
  float* partial_out = nullptr;
  std::int32_t* tile_row_tile = nullptr;
  std::int32_t* tile_request = nullptr;
  std::int64_t* line = nullptr;
  PlanCut* cuts = nullptr;
  std::int32_t* worker_slots = nullptr;
};

[[nodiscard]] PlanView bind_workspace(void* workspace, const WorkspaceLayout& layout);

/// All that the planner reads by value; small enough to be a kernel argument.
struct PlanProblem {
  RaggedBatchView batch;
  std::int32_t page_size = 1;
  std::int32_t heads = 0;
  std::int32_t max_q_len = 1;
  std::int32_t max_batch = 0;
  std::int32_t max_total_q = 0;
  std::int32_t num_workers = 1;
  std::int32_t split_limit = 0;
  bool causal = true;
  TileShape tile;
  CostModel cost;
};

[[nodiscard]] PlanProblem plan_problem(const PlanLimits& limits, const RaggedBatchView& batch, std::int32_t page_size);

/// The host planner: arrays of `batch` and `plan` are host memory. Same bits as the device's.
void make_plan(const PlanProblem& problem, const PlanView& plan);

/// What `explain` prints of a plan. Times are in tokens of the cost model.
struct PlanSummary {
  std::int32_t works = 0;
  std::int32_t split_tiles = 0;
  std::int32_t tiles = 0;
  std::int32_t slots = 0;
  std::int32_t max_splits = 0;
  std::int32_t busy_workers = 0;
  std::int32_t num_workers = 0;
  TileShape tile;
  std::int64_t kv_tokens = 0;      // read by all works, a token once for every row tile that reads it
  std::int64_t kv_bytes = 0;       // the same in bytes of the KV type
  std::int64_t kv_tiles = 0;       // tiles of KV of all works: turns of the decode kernel's loop
  std::int64_t most_kv_tiles = 0;  // of one worker
  std::int64_t partial_bytes = 0;  // float32 partials and lse, written once and read once
  std::int64_t workspace_bytes = 0;
  std::int64_t makespan = 0;
  std::int64_t equal_split_makespan = 0;
  std::int64_t busiest_worker = 0;  // cost of the busiest worker, without the merge
  double imbalance = 0;  // busiest worker over the mean of all workers; 1 is perfect, 0 where there is no work
};

[[nodiscard]] PlanSummary describe(const PlanView& plan, const PlanLimits& limits);

}  // namespace mla
