#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/cli/command.hpp"
#include "harness/problem/problem.hpp"
#include "harness/runner/case_list.hpp"
#include "harness/runner/case_record.hpp"
#include "harness/runner/interruption.hpp"
#include "harness/runner/shrink.hpp"

namespace mla::harness {

namespace {

struct ShrinkArguments {
  std::string word;
  std::string provider;
  ShrinkOptions options;
};

// The word alone on the first line, for scripts.
void print_result(const ShrinkResult& result, const Provider& provider) {
  const std::string word = result.problem.word();
  fmt::print("{}\n{}\n", word, repro_command(word, provider, RunMode::check));
  const auto& reason = result.outcome.at("reason");
  if (!reason.is_null()) {
    fmt::print("{}: {}\n", result.outcome.at("verdict").get<std::string>(), reason.at("message").get<std::string>());
  }
  if (const auto locus = result.outcome.find("locus"); locus != result.outcome.end() && !locus->is_null()) {
    fmt::print("looks like: {}\n", locus->at("message").get<std::string>());
  }
  fmt::print("{} tries{}\n", result.tries, result.finished ? "" : ", and more were possible: see --budget");
}

ExitCode shrink_problem(const ShrinkArguments& arguments, const ProviderList& providers) {
  Selection selection;
  selection.inputs = {arguments.word};
  selection.providers = {arguments.provider};
  const PlannedProblem plan = list_cases(selection, providers).front();
  const Provider& provider = *plan.providers.front();
  const ShrinkResult result =
      plan.problem.visit([&](const auto& problem) { return shrink(problem, provider, arguments.options); });
  print_result(result, provider);
  return InterruptionGuard::requested() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

void add_shrink(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<ShrinkArguments>();
  CLI::App* command =
      app.add_subcommand("shrink", "From a failing problem to the smallest one found that fails in the same way");
  command->add_option("problem", arguments->word, "Problem word that fails")->required();
  command->add_option("--provider", arguments->provider, "Provider it fails on")->required();
  command->add_option("--budget", arguments->options.budget_seconds, "Seconds to search for [60]")
      ->check(CLI::Range(1.0, 1e6));
  command->add_option("--timeout", arguments->options.timeout_seconds, "Seconds a try may take [20]")
      ->check(CLI::Range(0.1, 1e6));
  command->add_flag("--isolate,!--no-isolate", arguments->options.isolate,
                    "Each try in a process of its own [on]; --no-isolate is for a debugger");
  command->callback([arguments, &context] { context.result = shrink_problem(*arguments, context.providers); });
}

}  // namespace mla::harness
