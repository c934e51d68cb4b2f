#include "harness/pair/subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <future>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/runner/child_process.hpp"
#include "reports/error.hpp"
#include "reports/load.hpp"

namespace mla::harness {

namespace {

ChildLimits limits_of(const SubjectOptions& options, double timeout_seconds) {
  return {std::chrono::duration<double>(timeout_seconds), options.interrupted, true};
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

// The program's own complaint, without its name in front.
std::string complaint(const ChildResult& result) {
  constexpr std::string_view kName = "mla-harness: ";
  return result.last_words.starts_with(kName) ? result.last_words.substr(kName.size()) : describe(result);
}

}  // namespace

Subject::Subject(std::string option, std::string path, const SubjectOptions& options)
    : option_(std::move(option)), path_(std::move(path)), options_(options) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error) || ::access(path_.c_str(), X_OK) != 0) {
    throw UsageError(option_, path_, "an executable file is needed, a build of mla-harness");
  }
  // As it is started elsewhere: without a slash it would be searched for.
  path_ = std::filesystem::absolute(path_).string();
  const ChildResult help = run_program({path_, "launch", "--help"}, limits_of(options_, 60));
  if (help.end != ChildResult::End::finished && help.end != ChildResult::End::interrupted) {
    throw UsageError(option_, path_, "does not know the subcommand `launch`: no build of mla-harness, or an older one");
  }
  knows_turns_ = help.payload.find("--turns") != std::string::npos;
  std::vector<std::string> list = selection_arguments();
  list.insert(list.begin(), {path_, "list"});
  list.emplace_back("--json");
  const ChildResult listed = run_program(list, limits_of(options_, 60));
  if (listed.end != ChildResult::End::finished && listed.end != ChildResult::End::interrupted) {
    throw UsageError(option_, path_, complaint(listed));
  }
}

std::vector<std::string> Subject::selection_arguments() const {
  const Selection& selection = options_.selection;
  std::vector<std::string> arguments = selection.inputs;
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  add("--provider", joined(selection.providers));
  add("--filter", selection.filter);
  add("--trace", selection.trace);
  return arguments;
}

std::optional<reports::Report> Subject::check(const std::filesystem::path& file, bool resume) const {
  if (resume && std::filesystem::exists(file)) {
    reports::Report done = reports::load_report(file);
    if (done.run.complete) return done;
  }
  std::vector<std::string> run = selection_arguments();
  run.insert(run.begin(), {path_, "run"});
  run.insert(run.end(),
             {"--mode", "C", "--out", file.string(), "--timeout", fmt::format("{}", options_.timeout_seconds)});
  if (resume) run.emplace_back("--resume");
  std::filesystem::remove(file);
  // Its progress line is worth seeing, and so are its failures.
  const ChildResult result = run_program(run, limits_of(options_, 0), true);
  if (result.end == ChildResult::End::interrupted) return std::nullopt;
  if (!std::filesystem::exists(file)) {
    throw EnvironmentError(fmt::format("{} = '{}': its check {}", option_, path_, describe(result)));
  }
  return reports::load_report(file);
}

std::optional<reports::PairLaunch> Subject::launch(const std::string& key, int turns) const {
  const std::size_t at = key.rfind(" @");
  std::vector<std::string> argv = {path_,
                                   "launch",
                                   key.substr(0, at),
                                   "--provider",
                                   key.substr(at + 2),
                                   "--warmup",
                                   fmt::format("{}", options_.measure.sampling.warmup_s),
                                   "--budget",
                                   fmt::format("{}", options_.measure.sampling.budget_s)};
  if (options_.measure.cache) {
    argv.emplace_back("--cache");
    argv.emplace_back(*options_.measure.cache == CacheState::hot ? "hot" : "cold");
  }
  if (turns >= 0) argv.insert(argv.end(), {"--turns", fmt::format("{}", turns)});
  const ChildResult result = run_program(argv, limits_of(options_, options_.timeout_seconds), false, turns);
  if (result.end == ChildResult::End::interrupted) return std::nullopt;
  reports::PairLaunch launch;
  if (result.end != ChildResult::End::finished) {
    launch.failure = describe(result);
    return launch;
  }
  try {
    launch.times = reports::parse_launch(result.payload);
  } catch (const reports::ReportError& error) {
    throw EnvironmentError(fmt::format("{} = '{}': what `launch` printed: {}", option_, path_, error.what()));
  }
  return launch;
}

std::optional<std::array<reports::PairLaunch, 2>> launch_in_turns(const Subject& first, const Subject& second,
                                                                  const std::string& key) {
  std::array<int, 2> ends{};
  // Closed on exec: each program gets its own end, and sees that the other one is gone.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw EnvironmentError(fmt::format("socketpair failed: {}", std::strerror(errno)));
  }
  constexpr char kTurn = 1;
  (void)send(ends[1], &kTurn, 1, MSG_NOSIGNAL);
  auto waits = std::async(std::launch::async, [&] { return second.launch(key, ends[1]); });
  std::optional<reports::PairLaunch> begins = first.launch(key, ends[0]);
  std::optional<reports::PairLaunch> follows = waits.get();
  if (!begins || !follows) return std::nullopt;
  return std::array{std::move(*begins), std::move(*follows)};
}

std::string Subject::digest() const {
  // FNV-1a: tells an executable from a rebuilt one, and is no defence against anybody.
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::ifstream file(path_, std::ios::binary);
  std::vector<char> chunk(1U << 20U);
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(chunk[static_cast<std::size_t>(i)])) * 0x100000001b3U;
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace mla::harness
