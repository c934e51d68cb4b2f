// Two processes that measure in turns, on one machine that is not always equally fast.
#pragma once

#include <chrono>

namespace mla::harness {

/// One end of a socket between both. A byte that arrives hands the turn over. A process that ends closes its end: the
/// other one then has every turn. Owns the descriptor.
class Turns {
 public:
  /// A few launches of most kernels, and short against the tens of milliseconds for which a neighbour disturbs: with 25
  /// ms pairs of launches differ twice as much.
  static constexpr std::chrono::milliseconds kLength{8};

  explicit Turns(int socket) : socket_(socket) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns();

  /// Waits for the turn.
  void wait();
  /// Whether the turn has lasted long enough to be passed on.
  [[nodiscard]] bool over() const;
  /// Hands it over and waits for the next one.
  void pass();

 private:
  int socket_;
  bool alone_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace mla::harness
