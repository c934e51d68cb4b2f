#include <fmt/format.h>

#include <map>
#include <memory>

#include "harness/cli/choice.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/selection_options.hpp"
#include "harness/problem/field.hpp"
#include "harness/runner/run.hpp"

namespace mla::harness {

namespace {

void dry_run(const RunOptions& options, const ProviderList& providers) {
  std::size_t cases = 0;
  const std::vector<PlannedProblem> planned = list_cases(options.selection, providers);
  for (const PlannedProblem& plan : planned) cases += plan.providers.size();
  fmt::print("{} problems, {} cases: all inputs are valid, nothing was run\n", planned.size(), cases);
}

}  // namespace

void add_run(CLI::App& app, CommandContext& context) {
  struct Arguments {
    RunOptions options;
    std::string seed;
    std::string shard = "1/1";
    bool dry = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  RunOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("run", "Run suites or single problems: check, measure, report");
  add_selection_options(*command, options.selection);
  CLI::Option* seed = command->add_option("--seed", arguments->seed, "Seed for every problem whose word names none");
  command->add_option("--shard", arguments->shard, "Run part i of n, as i/n; `merge` puts the reports together");
  add_choice<RunMode>(*command, "--mode", options.mode,
                      {{"C", RunMode::check}, {"P", RunMode::measure}, {"CP", RunMode::check_and_measure}},
                      "C: check. P: check once, then measure. CP: check fully (repeats, canaries), then measure [CP]");
  add_measure_options(*command, options.measure);
  command
      ->add_option("--launches", options.launches,
                   "Processes in which each case is measured; `compare` judges small changes from 5 on [1]")
      ->check(CLI::Range(1, 10000));
  command->add_option("--out", options.out, "Report file (JSON); kept up to date as FILE's .jsonl while running");
  command->add_option("--junit", options.junit, "JUnit XML file");
  command->add_flag("--metamorphic", options.metamorphic,
                    "Check relations too: page size, page order, splits, batch order, padding, single decodes, ...");
  command->add_option("--known", options.known, "List of known failures [the one that comes with the harness]");
  command->add_flag("--resume", options.resume, "Continue the interrupted run that --out belongs to");
  command->add_option("--timeout", options.timeout_seconds, "Seconds a case may take, 0 for no limit [120]")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag("--isolate,!--no-isolate", options.isolate,
                    "Each case in a process of its own [on]; --no-isolate is for a debugger");
  command->add_flag("--dry-run", arguments->dry, "Validate the inputs and count the cases; run nothing");
  add_choice<ProgressMode>(
      *command, "--progress", options.progress,
      {{"auto", ProgressMode::automatic}, {"always", ProgressMode::always}, {"never", ProgressMode::never}},
      "auto: one line on a terminal. always: a line a case. never [auto]");
  command->callback([arguments, seed, &context] {
    RunOptions& chosen = arguments->options;
    if (seed->count() > 0) chosen.selection.seed = parse_unsigned("--seed", arguments->seed);
    chosen.selection.shard = parse_shard(arguments->shard);
    chosen.argv = context.argv;
    if (chosen.resume && chosen.out.empty()) throw UsageError("--resume", "", "--out FILE says which run to continue");
    if (arguments->dry) {
      dry_run(chosen, context.providers);
      return;
    }
    context.result = run(chosen, context.providers);
  });
}

}  // namespace mla::harness
