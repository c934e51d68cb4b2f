#include "harness/runner/interruption.hpp"

#include <signal.h>

#include <atomic>

namespace mla::harness {

namespace {

// A signal handler can reach nothing but a global; this is the one in the project.
std::atomic<bool> interruption_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void note_interruption(int signal_number) {
  if (interruption_requested.exchange(true)) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptionGuard::InterruptionGuard() {
  interruption_requested = false;
  install(note_interruption);
}

InterruptionGuard::~InterruptionGuard() {
  install(SIG_DFL);
}

bool InterruptionGuard::requested() {
  return interruption_requested;
}

}  // namespace mla::harness
