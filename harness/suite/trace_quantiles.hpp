// What is kept of a published trace so that the trace suite runs without it: quantiles, with source and licence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/suite/trace.hpp"

namespace mla::harness {

/// Joint quantiles of a trace's lengths. Requests ordered by input length fall into equally filled bins; each bin has
/// the quantiles of its own output lengths, so that long inputs keep the short outputs they came with.
struct TraceQuantiles {
  std::string name;
  std::string source;
  std::string licence;
  std::int64_t requests = 0;                      // rows the table was made from
  double requests_per_second = 0;                 // mean arrival rate
  std::vector<std::int64_t> input;                // [bins+1] quantiles of input length
  std::vector<std::vector<std::int64_t>> output;  // [bins][outputs] quantiles of output length in a bin

  bool operator==(const TraceQuantiles&) const = default;
};

/// Makes the table of a trace: `bins` by input length, `outputs` quantiles in each. Name, source and licence are left
/// to the caller. Throws UsageError where there are fewer requests than bins.
[[nodiscard]] TraceQuantiles derive_quantiles(std::span<const TraceRequest> requests, std::size_t bins = 64,
                                              std::size_t outputs = 9);

/// Requests drawn from a table: lengths by inverse transform, arrivals as a Poisson process. Philox 4x32 keyed by the
/// seed and counted by the request's index, so request i is the same however many are drawn.
[[nodiscard]] std::vector<TraceRequest> sample_requests(const TraceQuantiles& table, std::size_t count,
                                                        std::uint64_t seed);

[[nodiscard]] nlohmann::json to_json(const TraceQuantiles& table);

/// Reads a file of tables (`{"traces": [...]}`). Throws UsageError naming file, JSON pointer, value and rule.
[[nodiscard]] std::vector<TraceQuantiles> load_trace_quantiles(const std::filesystem::path& path);

}  // namespace mla::harness
