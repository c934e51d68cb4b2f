// Production request traces in their published formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace mla::harness {

/// One request of a trace.
struct TraceRequest {
  double arrival_ms = 0;  // since the trace's first request
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;

  bool operator==(const TraceRequest&) const = default;
};

/// Reads the first `max_requests` requests of a trace and orders them by arrival. The format is told from the first
/// line:
///   - Mooncake (kvcache-ai/Mooncake, FAST'25 traces): JSON Lines with timestamp (ms), input_length, output_length;
///   - Azure (Azure/AzurePublicDataset, LLM inference traces 2023 and 2024): CSV with TIMESTAMP, ContextTokens,
///     GeneratedTokens in any order.
/// Throws UsageError naming file:line, value and rule.
[[nodiscard]] std::vector<TraceRequest> read_trace(const std::filesystem::path& path,
                                                   std::size_t max_requests = 100'000);

}  // namespace mla::harness
