// Ctrl-C and termination, turned into a question that the run asks between and during cases.
#pragma once

namespace mla::harness {

/// While alive, SIGINT and SIGTERM are noted instead of ending the process; a second one ends it at once.
class InterruptionGuard {
 public:
  InterruptionGuard();
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  [[nodiscard]] static bool requested();
};

}  // namespace mla::harness
