// Times a prepared problem in this process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/providers/provider.hpp"
#include "harness/timing/clocks.hpp"
#include "harness/timing/sample.hpp"

namespace mla::harness {

/// How a case is timed.
struct MeasureOptions {
  // Half a second a case keeps a sweep of some 50 cases within a minute; most medians are known well before.
  SampleConfig sampling{.warmup_s = 0.1, .budget_s = 0.5};
  std::optional<CacheState> cache;  // none: hot on a CPU, cold on a GPU
};

class Turns;

/// What was measured of one case in one process.
struct Measurement {
  SampleResult samples;
  std::string timer;
  std::string cache;
  std::vector<StageTime> stages;
  std::string_view device;  // "cpu" or "gpu"
  // The driver's answers before the first sample and after the last one; no source where no driver tells.
  std::string clock_source;
  ClockReading clocks_before;
  ClockReading clocks_after;
};

/// Measures launches of `execution`, prepared for `problem_case` on a device of kind `device`, with caches as asked:
/// an execution that reads the harness's own buffers gets cold ones by rotation of the KV pool through memory of twice
/// the last-level caches, or a quarter of the memory that is free; a sparse pool stays hot. What came to be is in
/// `cache`. Stages are left to the caller. With `turns` another process measures in between: the warm-up is the first
/// turn, each later one begins with a launch that is not counted, and the budget, which is of both, is used up.
[[nodiscard]] Measurement measure(DecodeExecution& execution, const DecodeCase& problem_case, std::string_view device,
                                  const MeasureOptions& options, Turns* turns = nullptr);

}  // namespace mla::harness
