#include "harness/suite/batching.hpp"

#include <algorithm>
#include <cmath>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

void require_range(std::string_view name, double value, double lowest, double highest) {
  if (value >= lowest && value <= highest) return;
  throw UsageError(name, fmt::format("{}", value), fmt::format("a number from {} to {} is needed", lowest, highest));
}

}  // namespace

ContinuousBatching::ContinuousBatching(std::span<const TraceRequest> requests, const BatchingOptions& options)
    : requests_(requests), options_(options) {
  require_range("max_batch", options.max_batch, 1, 65536);
  require_range("max_context", static_cast<double>(options.max_context), 2, 1 << 22);
  require_range("step_ms", options.step_ms, 0.01, 60'000);
  require_range("rate", options.rate, 1e-3, 1e6);
  require_range("shrink", options.shrink, 1, 1e6);
}

std::int64_t ContinuousBatching::load() const {
  std::int64_t tokens = 0;
  for (const RunningRequest& request : running_) tokens += request.context;
  return tokens;
}

RunningRequest ContinuousBatching::start(std::size_t request) const {
  const TraceRequest& trace = requests_[request];
  const std::int64_t output = std::min(trace.output_tokens, options_.max_context / 2);
  const auto input = static_cast<std::int64_t>(std::ceil(static_cast<double>(trace.input_tokens) / options_.shrink));
  return {request, std::min(input, options_.max_context - output), output};
}

void ContinuousBatching::admit() {
  for (; next_ < requests_.size() && arrival(next_) <= now_ms(); ++next_) {
    if (requests_[next_].output_tokens == 0) continue;
    if (running_.size() == static_cast<std::size_t>(options_.max_batch)) return;
    running_.push_back(start(next_));
  }
}

bool ContinuousBatching::step() {
  std::erase_if(running_, [](const RunningRequest& request) { return request.tokens_left == 0; });
  ++tick_;
  admit();
  while (running_.empty() && next_ < requests_.size()) {
    // Idle: the clock goes straight to the step that the next arrival joins.
    tick_ = std::max(tick_ + 1, static_cast<std::int64_t>(std::ceil(arrival(next_) / options_.step_ms)));
    admit();
  }
  for (RunningRequest& request : running_) {
    ++request.context;
    --request.tokens_left;
  }
  return !running_.empty();
}

}  // namespace mla::harness
