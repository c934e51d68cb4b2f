// The run subcommand: works through a list of cases, records each, and sums up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/providers/provider.hpp"
#include "harness/runner/case_list.hpp"
#include "harness/runner/measurement.hpp"
#include "harness/runner/mode.hpp"
#include "harness/runner/progress.hpp"

namespace mla::harness {

struct RunOptions {
  Selection selection;
  RunMode mode = RunMode::check_and_measure;
  std::string out;    // report file; its journal is beside it with the extension .jsonl. Empty: no files
  std::string junit;  // JUnit XML file, or empty
  MeasureOptions measure;
  int launches = 1;          // processes in which each case is measured
  bool metamorphic = false;  // check the metamorphic relations of every case that passes otherwise
  std::string known;         // list of known failures; empty means the one that comes with the harness
  bool resume = false;
  double timeout_seconds = 120;
  bool isolate = true;
  ProgressMode progress = ProgressMode::automatic;
  std::vector<std::string> argv;  // for the record
};

/// Runs and returns the exit code: wrong_result where any case is failed, crashed, timed out or mistrusted;
/// interrupted where the user stopped the run, with a valid report of what was done. Throws UsageError and
/// EnvironmentError before the first case, not after it.
[[nodiscard]] ExitCode run(const RunOptions& options, const ProviderList& providers);

}  // namespace mla::harness
