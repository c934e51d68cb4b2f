// Options that say how a case is timed, shared by `run`, `launch` and `pair`.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>

#include "harness/cli/choice.hpp"
#include "harness/runner/measurement.hpp"

namespace mla::harness {

inline void add_measure_options(CLI::App& command, MeasureOptions& options) {
  command
      .add_option("--warmup", options.sampling.warmup_s,
                  "Seconds of launches before the first sample; 1 where a clock has to settle [0.1]")
      ->check(CLI::Range(0.0, 1e3));
  command.add_option("--budget", options.sampling.budget_s, "Seconds of samples of a launch at most [0.5]")
      ->check(CLI::Range(0.0, 1e3));
  add_choice<CacheState>(
      command, "--cache", options.cache, {{"hot", CacheState::hot}, {"cold", CacheState::cold}},
      "hot, or cold: the KV pool rotates through more memory than caches hold [hot on a CPU, cold on a GPU]");
}

}  // namespace mla::harness
