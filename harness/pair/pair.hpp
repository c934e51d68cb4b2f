// The pair subcommand: two executables on one machine, side by side.
#pragma once

#include <string>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/pair/rounds.hpp"
#include "harness/pair/subject.hpp"
#include "harness/runner/progress.hpp"

namespace mla::harness {

/// How both launches of a pair share the machine.
enum class Alternation : std::uint8_t {
  turns,     // at once: they take turns of some samples, so that what disturbs for longer than that disturbs both
  launches,  // one after the other, for what does not fit twice into the memory
};

struct PairOptions {
  std::string base;  // executables
  std::string next;
  SubjectOptions subjects;
  PairDesign design;
  Alternation alternation = Alternation::turns;
  std::string out;       // report; beside it the journal (.jsonl) and the reports of the checks. Empty: no files
  std::string markdown;  // files, or empty
  std::string html;
  bool resume = false;
  ProgressMode progress = ProgressMode::automatic;
  std::vector<std::string> argv;  // for the record
};

/// Checks every case once with each executable, times pairs of launches, judges, reports. The exit code is the verdict
/// (reports::exit_code); interrupted where the user stopped it, with all that was finished reported and kept for
/// --resume. Throws UsageError, ReportError and EnvironmentError.
[[nodiscard]] ExitCode pair(const PairOptions& options);

}  // namespace mla::harness
