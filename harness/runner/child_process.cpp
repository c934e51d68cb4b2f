#include "harness/runner/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

using Clock = std::chrono::steady_clock;

// An anonymous file shared with the child. A pipe would block a child that has more to say than the pipe holds.
class SharedFile {
 public:
  explicit SharedFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw EnvironmentError(fmt::format("memfd_create failed: {}", std::strerror(errno)));
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() { close(descriptor_); }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  [[nodiscard]] std::string contents() const {
    std::string text;
    std::array<char, 65536> chunk{};
    off_t offset = 0;
    while (true) {
      const ssize_t count = pread(descriptor_, chunk.data(), chunk.size(), offset);
      if (count <= 0) return text;
      text.append(chunk.data(), static_cast<std::size_t>(count));
      offset += count;
    }
  }

 private:
  int descriptor_;
};

void write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(125);
    done += static_cast<std::size_t>(count);
  }
}

// A payload starts with this byte, so that a child which exits before writing one is told from an empty payload.
constexpr char kPayloadMark = '\x01';

// What every child does first, whatever its work.
void become_child() {
  // The parent's death must not leave a looping child behind.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A group of its own: Ctrl-C reaches the parent alone, which then decides; and grandchildren can be killed with it.
  setpgid(0, 0);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  // A faulty kernel crashes by design here; gigabytes of core file help nobody.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

[[noreturn]] void child_main(const std::function<std::string()>& work, const SharedFile& payload,
                             const SharedFile& output) {
  become_child();
  dup2(output.descriptor(), STDOUT_FILENO);
  dup2(output.descriptor(), STDERR_FILENO);
  write_all(payload.descriptor(), kPayloadMark + work());
  // Skips destructors of the parent's objects, and library teardown that was never meant for a fork.
  _exit(0);
}

// Waits for the child, its limit or an interruption; kills it in the last two cases.
ChildResult::End wait_for(pid_t child, const ChildLimits& limits, int& status) {
  // The system call itself: glibc 2.36 declares its wrapper without C linkage.
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(limits.timeout);
  ChildResult::End end = ChildResult::End::finished;
  while (true) {
    pollfd event{handle, POLLIN, 0};
    constexpr int kSliceMs = 100;
    if (poll(&event, 1, kSliceMs) > 0) break;
    if (limits.interrupted && limits.interrupted()) {
      end = ChildResult::End::interrupted;
    } else if (limits.timeout.count() > 0 && Clock::now() >= deadline) {
      end = ChildResult::End::timed_out;
    } else {
      continue;
    }
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    break;
  }
  close(handle);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const std::size_t newline = text.find_last_of('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  constexpr std::size_t kLongest = 300;
  std::string line = text.substr(begin, std::min(end + 1 - begin, kLongest));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return line;
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& work, const ChildLimits& limits) {
  const auto begin = Clock::now();
  ChildResult result;
  if (!limits.isolate) {
    result.payload = work();
    result.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result;
  }
  const SharedFile payload("mla-payload");
  const SharedFile output("mla-output");
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError(fmt::format("fork failed: {}", std::strerror(errno)));
  if (child == 0) child_main(work, payload, output);

  int status = 0;
  result.end = wait_for(child, limits, status);
  result.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.last_words = last_line(output.contents());
  if (result.end != ChildResult::End::finished) return result;
  const std::string written = payload.contents();
  if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::signalled;
    result.code = WTERMSIG(status);
  } else if (written.empty() || WEXITSTATUS(status) != 0) {
    result.end = ChildResult::End::exited;
    result.code = WEXITSTATUS(status);
  } else {
    result.payload = written.substr(1);
  }
  return result;
}

ChildResult run_program(const std::vector<std::string>& argv, const ChildLimits& limits, bool show_errors,
                        int hand_over) {
  // As many threads as there may be here, the child does nothing between fork and exec that could need one of their
  // locks: what it needs is made before.
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  constexpr int kCannotStart = 127;
  const auto begin = Clock::now();
  const SharedFile output("mla-output");
  const SharedFile errors("mla-errors");
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError(fmt::format("fork failed: {}", std::strerror(errno)));
  if (child == 0) {
    become_child();
    dup2(output.descriptor(), STDOUT_FILENO);
    if (!show_errors) dup2(errors.descriptor(), STDERR_FILENO);
    if (hand_over >= 0) fcntl(hand_over, F_SETFD, 0);
    execv(arguments.front(), arguments.data());
    _exit(kCannotStart);
  }
  if (hand_over >= 0) close(hand_over);
  int status = 0;
  ChildResult result;
  result.end = wait_for(child, limits, status);
  result.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.last_words = last_line(errors.contents());
  if (result.end != ChildResult::End::finished) return result;
  result.payload = output.contents();
  if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::signalled;
    result.code = WTERMSIG(status);
  } else if (WEXITSTATUS(status) != 0) {
    result.end = ChildResult::End::exited;
    result.code = WEXITSTATUS(status);
    if (result.code == kCannotStart && result.last_words.empty()) {
      throw EnvironmentError(fmt::format("cannot start {}", argv.front()));
    }
  }
  return result;
}

std::string describe(const ChildResult& result) {
  const std::string words = result.last_words.empty() ? "" : ": " + result.last_words;
  switch (result.end) {
    case ChildResult::End::finished: return "finished";
    case ChildResult::End::exited: return fmt::format("left with exit status {}{}", result.code, words);
    case ChildResult::End::signalled:
      return fmt::format("was killed by signal {} ({}){}", result.code, strsignal(result.code), words);
    case ChildResult::End::timed_out:
      return fmt::format("was still running after {:.1f} s, killed", result.elapsed_seconds);
    case ChildResult::End::interrupted: return "was interrupted";
  }
  return "";
}

}  // namespace mla::harness
