// One of the two executables: a build of mla-harness, asked through arguments that every commit understands.
#pragma once

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
class Subject {
 public:
  /// `option` names it in messages ("--base"). Throws UsageError where `path` is no program that has this interface, or
  /// refuses the selection.
  Subject(std::string option, std::string path, const SubjectOptions& options);

  /// Runs all checks of all cases and leaves the report in `file`, whose journal is beside it: an interrupted run is
  /// continued from there. None where the user interrupted. Throws EnvironmentError where there is no report.
  [[nodiscard]] std::optional<reports::Report> check(const std::filesystem::path& file, bool resume) const;

  /// One launch of the case `key` ("problem @provider"). None where the user interrupted.
  [[nodiscard]] std::optional<reports::PairLaunch> launch(const std::string& key) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// 16 hex digits over the file's contents: the same program, or another one.
  [[nodiscard]] std::string digest() const;

 private:
  [[nodiscard]] std::vector<std::string> selection_arguments() const;

  std::string option_;
  std::string path_;
  const SubjectOptions& options_;
};

}  // namespace mla::harness
