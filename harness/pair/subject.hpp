// One of the two executables: a build of mla-harness, asked through arguments that every commit understands.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/runner/case_list.hpp"
#include "harness/runner/measurement.hpp"
#include "reports/pair/launch.hpp"
#include "reports/report.hpp"

namespace mla::harness {

/// What is asked of both executables alike.
struct SubjectOptions {
  Selection selection;  // inputs, providers, filter, trace
  MeasureOptions measure;
  double timeout_seconds = 120;  // of a launch, and of each case that is checked; 0 for none
  std::function<bool()> interrupted;
};

/// The interface that both executables must have, and the only one that is used:
///   EXE list INPUT... [--provider P,..] [--filter RE] [--trace FILE] --json   the cases
///   EXE run  INPUT... [as above] --mode C --out FILE [--resume] --timeout S   all checks, schema
///   mla-harness-report 1.x EXE launch PROBLEM --provider P --warmup S --budget S [--cache C]         one line of
///   schema mla-harness-launch 1.x
/// and, where `EXE launch --help` speaks of it, --turns SOCKET of the latter (harness/timing/turns.hpp).
class Subject {
 public:
  /// `option` names it in messages ("--base"). Throws UsageError where `path` is no program that has this interface, or
  /// refuses the selection.
  Subject(std::string option, std::string path, const SubjectOptions& options);

  /// Runs all checks of all cases and leaves the report in `file`, whose journal is beside it: an interrupted run is
  /// continued from there. None where the user interrupted. Throws EnvironmentError where there is no report.
  [[nodiscard]] std::optional<reports::Report> check(const std::filesystem::path& file, bool resume) const;

  /// One launch of the case `key` ("problem @provider"). None where the user interrupted. `turns`: a socket on which it
  /// takes turns with another launch, closed here.
  [[nodiscard]] std::optional<reports::PairLaunch> launch(const std::string& key, int turns = -1) const;

  [[nodiscard]] bool knows_turns() const { return knows_turns_; }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// 16 hex digits over the file's contents: the same program, or another one.
  [[nodiscard]] std::string digest() const;

 private:
  [[nodiscard]] std::vector<std::string> selection_arguments() const;

  std::string option_;
  std::string path_;
  const SubjectOptions& options_;
  bool knows_turns_ = false;
};

/// One launch of each, at once and in turns, `first` beginning. Both know turns. None where the user interrupted.
[[nodiscard]] std::optional<std::array<reports::PairLaunch, 2>> launch_in_turns(const Subject& first,
                                                                                const Subject& second,
                                                                                const std::string& key);

}  // namespace mla::harness
