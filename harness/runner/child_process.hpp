// Runs one piece of work in a process of its own: a crash, an abort or an endless loop costs that piece and no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mla::harness {

/// How a child ended, and what it had to say.
struct ChildResult {
  enum class End : std::uint8_t {
    finished,     // returned a payload
    exited,       // left without a payload: exit(), _exit(), quick_exit()
    signalled,    // killed by a signal: abort(), a segmentation fault, the kernel's memory killer
    timed_out,    // ran past its limit and was killed
    interrupted,  // the user asked to stop; the child was killed
  };

  End end = End::finished;
  std::string payload;     // what `work` returned
  int code = 0;            // exit status or signal number
  std::string last_words;  // the last line of the child's output, "" if it had none
  double elapsed_seconds = 0;
};

struct ChildLimits {
  std::chrono::duration<double> timeout{0};  // 0 means none
  std::function<bool()> interrupted;         // asked a few times a second
  bool isolate = true;                       // false runs the work in this process, for a debugger
};

/// Runs `work` and returns its payload. The child is a fork of this process, so `work` may use anything prepared here;
/// this process must be single-threaded (OpenMP and libtorch included) for that to be sound. The child's output goes
/// to a buffer, not to the terminal: standard output belongs to data.
/// An exception that escapes `work` ends the child like `std::terminate` would.
[[nodiscard]] ChildResult run_in_child(const std::function<std::string()>& work, const ChildLimits& limits);

/// Runs another program: `argv[0]` is its path, the rest its arguments. Its standard output is the payload, whatever
/// its exit status, which is in `code` (`finished` where it is 0). Its standard error is not seen, but for the last
/// words, unless `show_errors` lets it through. `hand_over`: a descriptor that the program gets under the same number,
/// and that is closed here. Throws EnvironmentError where it cannot be started.
[[nodiscard]] ChildResult run_program(const std::vector<std::string>& argv, const ChildLimits& limits,
                                      bool show_errors = false, int hand_over = -1);

/// What the process did, for a person: "was killed by signal 6 (Aborted): terminate called ...".
[[nodiscard]] std::string describe(const ChildResult& result);

}  // namespace mla::harness
