// What a person sees on standard error while a run is going on.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mla::harness {

enum class ProgressMode : std::uint8_t {
  automatic,  // on a terminal one line that is rewritten; elsewhere a line now and then, for logs
  always,     // a line a case
  never,
};

/// Shows how many cases are done, the rate, and the time left. Time left is weighted by the cases' work, since a
/// suite's last cases are often its largest. Failures are printed at once, whatever the mode.
class Progress {
 public:
  Progress(ProgressMode mode, int total_cases, double total_work, std::FILE* stream = stderr,
           std::string unit = "cases");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A case is about to start.
  void begin(const std::string& key);
  /// A case has ended with `verdict`; `work` is its share of `total_work`. Cases that were not run at all take none of
  /// the time from which the rate is estimated.
  void end(const std::string& key, const std::string& verdict, double work);
  /// One line that must be seen now: a failure and the command that repeats it.
  void note(const std::string& line);
  /// Removes the status line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string status(const std::string& key) const;
  void rewrite(const std::string& line);

  ProgressMode mode_;
  bool terminal_;
  std::FILE* stream_;
  std::string unit_;  // of what is counted
  int total_cases_;
  double total_work_;
  int done_cases_ = 0;
  double done_work_ = 0;
  int bad_cases_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_ = Clock::now();
};

/// "1:02:03" or "4:05".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace mla::harness
