// A batch with its limits, its own exactly sized arrays with a guard after each, and the plan made in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mla/plan.hpp"

namespace mla::test {

/// Lengths of a batch and everything else that a plan depends on.
struct PlanCase {
  PlanLimits limits;
  std::int32_t page_size = 1;
  std::vector<std::int32_t> q_len;
  std::vector<std::int32_t> kv_len;

  [[nodiscard]] std::int32_t batch() const { return static_cast<std::int32_t>(q_len.size()); }
};

/// As the shell word of a problem, so that a failing case can be made again by hand.
[[nodiscard]] std::string to_string(const PlanCase& problem);

/// The index arrays of a case.
class RaggedBatch {
 public:
  explicit RaggedBatch(const PlanCase& problem);
  RaggedBatch(const RaggedBatch&) = delete;
  RaggedBatch& operator=(const RaggedBatch&) = delete;

  [[nodiscard]] const RaggedBatchView& view() const { return view_; }

  std::vector<std::int32_t> qo_indptr;
  std::vector<std::int32_t> kv_indptr;
  std::vector<std::int32_t> kv_last_page_len;

 private:
  RaggedBatchView view_;
};

/// Every array of a plan in a buffer of exactly its size, filled with a poison and followed by a guard.
class GuardedPlan {
 public:
  explicit GuardedPlan(const WorkspaceLayout& layout);
  GuardedPlan(const GuardedPlan&) = delete;
  GuardedPlan& operator=(const GuardedPlan&) = delete;

  [[nodiscard]] const PlanView& view() const { return view_; }
  /// The name of the first array whose guard was overwritten, or nothing.
  [[nodiscard]] std::string broken_guard() const;

 private:
  template <class T>
  void place(const char* name, T*& pointer, const WorkspaceRegion& region);

  struct Buffer {
    const char* name;
    std::size_t bytes;
    std::vector<std::max_align_t> storage;
  };
  std::vector<Buffer> buffers_;
  PlanView view_;
};

/// What decode and merge read of a plan, for comparing two plans bit by bit.
struct PlanBits {
  PlanHeader header;
  std::vector<std::int32_t> work_indptr;
  std::vector<WorkerStart> starts;
  std::vector<Work> works;
  std::vector<Reduction> reductions;
  std::vector<std::int32_t> slot_reduction;
  std::vector<std::int32_t> arrivals;

  friend bool operator==(const PlanBits&, const PlanBits&) = default;
};

[[nodiscard]] PlanBits bits_of(const PlanView& plan, std::int32_t num_workers);

/// The first invariant that a plan breaks, or nothing. Derived from the contract alone: shares no code with the
/// planner.
[[nodiscard]] std::string broken_invariant(const PlanCase& problem, const PlanView& plan);

/// The makespan of `splits` equal pieces a tile, dealt in order in runs whose counts differ by at most one.
[[nodiscard]] std::int64_t equal_split_makespan(const PlanCase& problem, std::int64_t splits);

/// The best of these over 1 .. max(1, ceil(workers / tiles)) within the split limit.
[[nodiscard]] std::int64_t best_equal_split_makespan(const PlanCase& problem);

}  // namespace mla::test
