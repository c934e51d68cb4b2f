// The command line of `mla-harness`: one file a subcommand, each giving a function that adds it to the parser.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/core/error.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Parses and runs; returns the process's exit code (see ExitCode). Errors are one line on standard error.
[[nodiscard]] int command_line(int argc, char** argv, const ProviderList& providers);

/// What a subcommand needs and gives back. Outlives the parser's callbacks.
struct CommandContext {
  const ProviderList& providers;
  std::vector<std::string> argv;
  ExitCode result = ExitCode::ok;
};

void add_run(CLI::App& app, CommandContext& context);
void add_list(CLI::App& app, CommandContext& context);
void add_compare(CLI::App& app, CommandContext& context);
void add_pair(CLI::App& app, CommandContext& context);
void add_launch(CLI::App& app, CommandContext& context);
void add_merge(CLI::App& app, CommandContext& context);
void add_report(CLI::App& app, CommandContext& context);
void add_shrink(CLI::App& app, CommandContext& context);
void add_explain(CLI::App& app, CommandContext& context);
void add_doctor(CLI::App& app, CommandContext& context);

}  // namespace mla::harness
