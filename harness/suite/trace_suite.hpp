// Decode batches as a serving engine would have had them, from a production trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/suite/batching.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/suite.hpp"

namespace mla::harness {

struct TraceOptions {
  BatchingOptions batching;
  /// Which steps become cases: quantiles of the load (context tokens in the batch) over all steps.
  std::vector<double> snapshots = {0.25, 0.5, 0.75, 0.95};
  std::size_t requests = 4000;  // read from the trace, or drawn from its quantiles
  std::uint64_t seed = 0;       // of the drawing
  std::string model = "deepseek-v3";
  int tp = 8;
  std::map<std::string, std::string> base;  // further fields of each case's problem word, e.g. page, dtype, q
};

/// A suite of decode batches from one trace: a file (Mooncake JSON Lines or Azure CSV), or the name of a trace whose
/// quantiles come with the harness (`builtin_traces`). Snapshots that turn out equal make one case.
/// Throws UsageError.
[[nodiscard]] Suite make_trace_suite(const std::string& file_or_builtin, const TraceOptions& options = {});

/// Names of the traces that `make_trace_suite` knows without a file.
[[nodiscard]] std::vector<std::string> builtin_traces();

/// The cases of one element of a suite's `traces`:
///   {"name", "source" (a built-in trace), "model", "tp", "base", "max_batch", "max_context", "step_ms", "rate",
///    "shrink", "snapshots", "requests", "seed"}
[[nodiscard]] std::vector<SuiteCase> expand_trace(const JsonNode& node, const std::string& suite);

}  // namespace mla::harness
