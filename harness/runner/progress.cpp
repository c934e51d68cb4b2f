#include "harness/runner/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mla::harness {

namespace {

int terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

bool is_bad(const std::string& verdict) {
  return verdict == "failed" || verdict == "crashed" || verdict == "timeout" || verdict == "mistrusted" ||
         verdict == "unexpected_pass";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Progress(ProgressMode mode, int total_cases, double total_work, std::FILE* stream, std::string unit)
    : mode_(mode),
      terminal_(isatty(fileno(stream)) != 0),
      stream_(stream),
      unit_(std::move(unit)),
      total_cases_(total_cases),
      total_work_(total_work) {}

Progress::~Progress() {
  finish();
}

std::string Progress::status(const std::string& key) const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string line = fmt::format("[{:>{}}/{}]", done_cases_, std::to_string(total_cases_).size(), total_cases_);
  if (bad_cases_ > 0) line += fmt::format("  {} bad", bad_cases_);
  if (done_work_ > 0 && elapsed > 0) {
    line += fmt::format("  {:.1f} {}/s  {} left", done_cases_ / elapsed, unit_,
                        clock_text(elapsed * (total_work_ - done_work_) / done_work_));
  }
  return line + "  " + key;
}

void Progress::rewrite(const std::string& line) {
  const auto width = static_cast<std::size_t>(terminal_columns(fileno(stream_))) - 1;
  fmt::print(stream_, "\r\x1b[K{}", line.size() > width ? line.substr(0, width) : line);
  std::fflush(stream_);
}

void Progress::begin(const std::string& key) {
  if (mode_ == ProgressMode::automatic && terminal_) rewrite(status(key));
}

void Progress::end(const std::string& key, const std::string& verdict, double work) {
  ++done_cases_;
  done_work_ += work;
  if (is_bad(verdict)) ++bad_cases_;
  if (mode_ == ProgressMode::always) {
    fmt::print(stream_, "{}  {}\n", status(key), verdict);
  } else if (mode_ == ProgressMode::automatic && !terminal_) {
    constexpr std::chrono::seconds kBetweenLines{10};
    if (Clock::now() - last_line_ < kBetweenLines) return;
    last_line_ = Clock::now();
    fmt::print(stream_, "{}\n", status(key));
  }
  std::fflush(stream_);
}

void Progress::note(const std::string& line) {
  const bool rewriting = mode_ == ProgressMode::automatic && terminal_;
  fmt::print(stream_, "{}{}\n", rewriting ? "\r\x1b[K" : "", line);
  std::fflush(stream_);
}

void Progress::finish() {
  if (mode_ == ProgressMode::automatic && terminal_) {
    fmt::print(stream_, "\r\x1b[K");
    std::fflush(stream_);
  }
}

}  // namespace mla::harness
