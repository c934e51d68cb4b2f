// Options that choose cases, shared by `run` and `list`.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/runner/case_list.hpp"

namespace mla::harness {

inline void add_selection_options(CLI::App& command, Selection& selection, bool required = true) {
  command
      .add_option("inputs", selection.inputs, "Suite names (smoke, models, edge, ...), suite files, or problem words")
      ->required(required);
  command.add_option("--provider", selection.providers, "Providers to run, joined by commas [all but the slow `host`]")
      ->delimiter(',');
  command.add_option("--filter", selection.filter,
                     "Regular expression searched in 'problem @provider' and 'suite/name'");
  command.add_option("--trace", selection.trace,
                     "Request trace (Mooncake JSONL or Azure CSV) for the `trace` suite, instead of built-in tables");
}

}  // namespace mla::harness
