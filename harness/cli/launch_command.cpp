#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "harness/cli/command.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/runner/case_list.hpp"
#include "harness/runner/launch.hpp"
#include "harness/timing/turns.hpp"

namespace mla::harness {

void add_launch(CLI::App& app, CommandContext& context) {
  struct Arguments {
    std::string word;
    std::string provider;
    MeasureOptions options;
    int turns = -1;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "launch", "Measure one launch of one problem, unchecked, and print it as one line of JSON: what `pair` runs");
  command->add_option("problem", arguments->word, "Problem word")->required();
  command->add_option("--provider", arguments->provider, "Provider")->required();
  add_measure_options(*command, arguments->options);
  command->add_option("--turns", arguments->turns, "Socket on which `pair` has two launches take turns (a descriptor)")
      ->check(CLI::Range(3, 1 << 20));
  command->callback([arguments, &context] {
    (void)Problem::parse(arguments->word);  // a suite is no single case
    Selection selection;
    selection.inputs = {arguments->word};
    selection.providers = {arguments->provider};
    const PlannedProblem plan = list_cases(selection, context.providers).front();
    std::optional<Turns> turns;
    if (arguments->turns >= 0) turns.emplace(arguments->turns);
    plan.problem.visit([&](const auto& problem) {
      fmt::print("{}\n",
                 measure_launch(problem, *plan.providers.front(), arguments->options, turns ? &*turns : nullptr));
    });
  });
}

}  // namespace mla::harness
