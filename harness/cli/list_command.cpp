#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/command.hpp"
#include "harness/cli/selection_options.hpp"
#include "harness/suite/suite.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

void list_what_there_is(const ProviderList& providers, bool as_json) {
  const std::vector<BuiltinSuite> suites = builtin_suites();
  if (as_json) {
    Json document{{"suites", Json::array()}, {"providers", Json::array()}};
    for (const BuiltinSuite& suite : suites)
      document["suites"].push_back({{"name", suite.name}, {"description", suite.description}});
    for (const auto& provider : providers) {
      document["providers"].push_back({{"name", provider->name()}, {"description", provider->description()}});
    }
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print("suites\n");
  for (const BuiltinSuite& suite : suites) fmt::print("  {:<10} {}\n", suite.name, suite.description);
  fmt::print("providers\n");
  for (const auto& provider : providers) fmt::print("  {:<10} {}\n", provider->name(), provider->description());
}

void list_problems(const std::vector<PlannedProblem>& planned, bool as_json) {
  Json document = Json::array();
  for (const PlannedProblem& plan : planned) {
    for (const Provider* provider : plan.providers) {
      const std::string key = case_key(plan.word, *provider);
      Json suites = Json::array();
      std::string names;
      for (const SuiteMembership& suite : plan.suites) {
        suites.push_back({{"suite", suite.suite},
                          {"name", suite.name},
                          {"source", suite.source.empty() ? Json() : Json(suite.source)}});
        names += fmt::format("  [{}/{}{}]", suite.suite, suite.name, suite.source.empty() ? "" : ", " + suite.source);
      }
      if (!as_json) fmt::print("{}{}\n", key, names);
      document.push_back({{"key", key}, {"problem", plan.word}, {"provider", provider->name()}, {"suites", suites}});
    }
  }
  if (as_json) fmt::print("{}\n", document.dump(2));
}

}  // namespace

void add_list(CLI::App& app, CommandContext& context) {
  struct Arguments {
    Selection selection;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("list", "List cases; with no input, the suites and providers there are");
  add_selection_options(*command, arguments->selection, false);
  command->add_flag("--json", arguments->json, "JSON on standard output");
  command->callback([arguments, &context] {
    if (arguments->selection.inputs.empty()) {
      list_what_there_is(context.providers, arguments->json);
    } else {
      list_problems(list_cases(arguments->selection, context.providers), arguments->json);
    }
  });
}

}  // namespace mla::harness
