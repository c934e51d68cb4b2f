// Runs a program as a user would and keeps what it printed.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mla::test {

struct CommandResult {
  int exit_code = -1;  // 128 + signal number where a signal ended it
  std::string out;
  std::string err;
};

/// Runs `argv` (argv[0] is a path) in a shell-free way. With `interrupt_after`, sends SIGINT once after that time.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& argv,
                                        std::optional<std::chrono::milliseconds> interrupt_after = std::nullopt);

/// A folder that is removed, with all in it, at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace mla::test
