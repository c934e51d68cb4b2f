// Blocked float32 flash-decoding over a paged latent cache, on all cores.
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "harness/providers/eigen/split_plan.hpp"
#include "harness/providers/eigen/work_runner.hpp"
#include "harness/providers/worker_pool.hpp"
#include "mla/decode.hpp"

namespace mla::harness::eigen {

/// Each work takes its KV tokens once, a tile at a time: widen the tile to float32 in the core's cache, multiply it
/// with every query row (one SIMD lane a row), update the running softmax, multiply the same tile, as V, with the
/// probabilities. Rows shared by several works are merged afterwards by their log-sum-exp, in the order of the tokens,
/// so that the result depends neither on the number of threads nor on which of them did what.
class FlashDecode {
 public:
  struct Times {
    double plan_ns = 0;
    double decode_ns = 0;
    double merge_ns = 0;
  };

  /// `planned_workers` and `split_limit` as in make_split_plan; `threads` is how many run the plan.
  FlashDecode(int planned_workers, int split_limit, int threads = available_cores());

  /// One launch: reads inputs, writes every row of the outputs.
  Times run(const DecodeInputs& inputs, const DecodeOutputs& outputs);

 private:
  void decode(const DecodeInputs& inputs, const DecodeOutputs& outputs);
  void merge(const DecodeInputs& inputs, const DecodeOutputs& outputs);
  float merge_row(const Merge& merge, int row, float* values) const;

  WorkerPool pool_;
  int planned_workers_;
  int split_limit_;
  std::vector<WorkRunner> runners_;  // one a worker
  SplitPlan plan_;
  // Results of works that share their rows, each normalised by its own sum. They only ever grow, so that a launch after
  // the first allocates nothing.
  std::vector<float> partial_out_;  // [partial rows, 512]
  std::vector<float> partial_lse_;  // [partial rows]
};

}  // namespace mla::harness::eigen
