// The two ways a request can be refused before any case runs, and the exit codes of the command line.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace mla::harness {

/// Exit codes of `mla-harness`; a gate in CI may rely on them.
enum class ExitCode : int {
  ok = 0,
  regression = 1,
  wrong_result = 2,
  invalid_environment = 3,
  usage = 4,
  missing_cases = 5,
  interrupted = 130,
};

/// Bad input from a person or a file. The message is one line: the argument, its value, the rule it breaks.
class UsageError : public std::runtime_error {
 public:
  UsageError(std::string_view argument, std::string_view value, std::string_view rule)
      : std::runtime_error(fmt::format("{} = '{}': {}", argument, abbreviated(value), rule)) {}
  explicit UsageError(const std::string& line) : std::runtime_error(line) {}

 private:
  // A gigabyte pasted where a number belongs must still give one readable line.
  static std::string abbreviated(std::string_view value);
};

/// The machine cannot do what was asked (a library, a device or memory is missing). Exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace mla::harness
