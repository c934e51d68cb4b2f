// Continuous batching, reduced to what decides the shape of a decode batch: who is running, with how long a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/suite/trace.hpp"

namespace mla::harness {

struct BatchingOptions {
  int max_batch = 16;                // requests that run at once
  std::int64_t max_context = 16384;  // tokens a request may reach; longer ones are cut, the input first
  double step_ms = 30;               // time of one decode step
  double rate = 1;                   // arrivals come this many times as fast
  double shrink = 1;                 // inputs are divided by this: keeps a trace's spread on a smaller machine
};

/// A request in the running batch. `context` counts the token that this step decodes.
struct RunningRequest {
  std::size_t request = 0;  // its index in the trace
  std::int64_t context = 0;
  std::int64_t tokens_left = 0;

  bool operator==(const RunningRequest&) const = default;
};

/// Steps a decode engine through a trace. Requests wait in order of arrival, join when a place is free, decode one
/// token a step, leave after their last. Prefill takes no time here, as on an engine that prefills elsewhere. Requests
/// without output never run. Deterministic.
class ContinuousBatching {
 public:
  /// `requests` in order of arrival; must outlive the object. Throws UsageError naming an option out of range.
  ContinuousBatching(std::span<const TraceRequest> requests, const BatchingOptions& options);

  /// Goes to the next step with at least one running request; false after the last.
  bool step();

  [[nodiscard]] std::span<const RunningRequest> running() const { return running_; }
  [[nodiscard]] double now_ms() const { return static_cast<double>(tick_) * options_.step_ms; }
  /// Context tokens over the running requests.
  [[nodiscard]] std::int64_t load() const;

 private:
  [[nodiscard]] double arrival(std::size_t request) const { return requests_[request].arrival_ms / options_.rate; }
  [[nodiscard]] RunningRequest start(std::size_t request) const;
  void admit();

  std::span<const TraceRequest> requests_;
  BatchingOptions options_;
  std::vector<RunningRequest> running_;
  std::size_t next_ = 0;    // first request that has not joined
  std::int64_t tick_ = -1;  // number of the current step
};

}  // namespace mla::harness
