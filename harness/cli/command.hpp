// The subcommands: one file each, giving a function that adds it to the parser.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/core/error.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

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
