#include <memory>
#include <string>

#include "harness/cli/choice.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/selection_options.hpp"
#include "harness/pair/pair.hpp"
#include "harness/problem/field.hpp"
#include "harness/runner/interruption.hpp"
#include "reports/margins.hpp"

namespace mla::harness {

namespace {

struct PairArguments {
  PairOptions options;
  double margin_percent = 2;
  std::string margins;
  std::string seed = "0";
};

ExitCode run_pair(PairArguments& arguments, const CommandContext& context) {
  PairOptions& options = arguments.options;
  options.design.rules.compare.margin = arguments.margin_percent / 100;
  if (!arguments.margins.empty()) {
    options.design.rules.compare.margins = reports::load_margins(arguments.margins);
    // Both sides share the machine: what canaries are for cannot happen.
    options.design.rules.compare.margins.canaries.clear();
  }
  options.design.seed = parse_unsigned("--seed", arguments.seed);
  options.subjects.interrupted = InterruptionGuard::requested;
  options.argv = context.argv;
  if (options.resume && options.out.empty()) {
    throw UsageError("--resume", "", "--out FILE says which comparison to continue");
  }
  return pair(options);
}

}  // namespace

void add_pair(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<PairArguments>();
  PairOptions& options = arguments->options;
  reports::PairRules& rules = options.design.rules;
  CLI::App* command = app.add_subcommand(
      "pair", "Compare two builds on this machine by launches side by side; the exit code is the verdict");
  command->footer(
      "Every case is checked once by each build, then timed in pairs of processes, A or B beginning, the cases in\n"
      "random order each round. What the screening cannot clear is decided by fresh pairs, and by more of them as\n"
      "long as it stays open. Both builds are asked through `list`, `run --mode C --out` and `launch`, and resolve\n"
      "suite names themselves.");
  add_selection_options(*command, options.subjects.selection);
  command->add_option("--base", options.base, "Executable to compare against: another build's mla-harness")->required();
  command->add_option("--new", options.next, "Executable in question")->required();
  command->add_option("--screen", options.design.screen_pairs, "Pairs of every case [6]")->check(CLI::Range(3, 10000));
  command
      ->add_option("--confirm", rules.confirm_pairs,
                   "Fresh pairs of each case that the screening cannot clear; 0: the screening decides [16]")
      ->check(CLI::IsMember({0}) | CLI::Range(3, 10000));
  command
      ->add_option("--looks", rules.looks,
                   "Times that a case gets so many fresh pairs before it is called inconclusive; each look has its\n"
                   "share of the error rates [4]")
      ->check(CLI::Range(1, 100));
  command
      ->add_option("--margin", arguments->margin_percent, "Change in percent below which a time counts as the same [2]")
      ->check(CLI::Range(0.0, 1000.0));
  command->add_option("--margins", arguments->margins, "File of margins and floors of single cases (reports/schema)");
  add_choice<Alternation>(
      *command, "--alternate", options.alternation,
      {{"turns", Alternation::turns}, {"launches", Alternation::launches}},
      "turns: both launches of a pair run at once and take turns of 8 ms, so that they meet the same machine; where\n"
      "one of the builds does not know that: launches, one after the other [turns]");
  command->add_option("--seed", arguments->seed, "Seed of the order of launches [0]");
  add_measure_options(*command, options.subjects.measure);
  command->add_option("--out", options.out, "Report (JSON); kept up to date as FILE's .jsonl while running");
  command->add_option("--markdown", options.markdown, "Write a summary for a pull request");
  command->add_option("--html", options.html, "Write the dashboard with a forest plot of all ratios");
  command->add_flag("--resume", options.resume, "Continue the interrupted comparison that --out belongs to");
  command->add_flag("--allow-missing", rules.compare.allow_missing, "Cases that vanished do not fail the comparison");
  command->add_flag("--strict", rules.compare.strict, "Inconclusive cases count as regressions");
  command
      ->add_option("--timeout", options.subjects.timeout_seconds,
                   "Seconds a launch, or the check of a case, may take, 0 for no limit [120]")
      ->check(CLI::Range(0.0, 1e6));
  add_choice<ProgressMode>(
      *command, "--progress", options.progress,
      {{"auto", ProgressMode::automatic}, {"always", ProgressMode::always}, {"never", ProgressMode::never}},
      "auto: one line on a terminal. always: a line a pair. never [auto]");
  command->callback([arguments, &context] { context.result = run_pair(*arguments, context); });
}

}  // namespace mla::harness
