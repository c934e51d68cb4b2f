#include "harness/runner/case_list.hpp"

#include <algorithm>
#include <functional>
#include <regex>
#include <unordered_map>

#include "harness/core/error.hpp"
#include "harness/problem/field.hpp"
#include "harness/suite/suite.hpp"
#include "harness/suite/trace_suite.hpp"

namespace mla::harness {

namespace {

// One problem of an input, before equal problems are merged.
struct Entry {
  Problem problem;
  std::optional<SuiteMembership> suite;
  std::vector<std::string> providers;  // the suite's own restriction, empty for none
};

bool is_problem_word(const std::string& input) {
  // A file or suite name may hold a colon; a problem word begins with an operation and one.
  return input == "decode" || input.starts_with("decode:");
}

std::vector<Entry> read_suite(const std::string& input, const std::string& trace) {
  const Suite suite = input == "trace" && !trace.empty() ? make_trace_suite(trace) : load_suite(find_suite(input));
  std::vector<Entry> entries;
  for (const SuiteCase& item : suite.cases) {
    entries.push_back({item.problem, SuiteMembership{suite.name, item.name, item.source}, item.providers});
  }
  return entries;
}

std::vector<Entry> read_inputs(const Selection& selection) {
  std::vector<Entry> entries;
  for (const std::string& input : selection.inputs) {
    if (is_problem_word(input)) {
      entries.push_back({Problem::parse(input), std::nullopt, {}});
      continue;
    }
    for (Entry& entry : read_suite(input, selection.trace)) entries.push_back(std::move(entry));
  }
  return entries;
}

Problem with_seed(const Problem& problem, std::uint64_t seed) {
  return problem.visit([seed](const DecodeProblem& decode) {
    DecodeProblem::Fields fields = decode.fields();
    if (fields.seed == 0) fields.seed = seed;
    return Problem(DecodeProblem(std::move(fields)));
  });
}

std::vector<const Provider*> select_providers(const std::vector<std::string>& names, const ProviderList& providers) {
  std::vector<const Provider*> selected;
  std::string known;
  for (const auto& provider : providers) {
    known += (known.empty() ? "" : ", ") + std::string(provider->name());
    if (names.empty() && provider->runs_by_default()) selected.push_back(provider.get());
  }
  for (const std::string& name : names) {
    const auto found =
        std::find_if(providers.begin(), providers.end(), [&](const auto& p) { return p->name() == name; });
    if (found == providers.end()) {
      throw UsageError("--provider", name,
                       "this build has: " + known + " (`mla-harness doctor` says why others are off)");
    }
    if (std::find(selected.begin(), selected.end(), found->get()) == selected.end()) selected.push_back(found->get());
  }
  return selected;
}

std::function<bool(const std::string&)> make_filter(const std::string& pattern) {
  if (pattern.empty()) return [](const std::string&) { return true; };
  try {
    return [expression = std::regex(pattern)](const std::string& text) { return std::regex_search(text, expression); };
  } catch (const std::regex_error&) {
    throw UsageError("--filter", pattern, "a regular expression (ECMAScript) is needed");
  }
}

// Equal problems from several inputs become one, so that no case runs, or is reported, twice.
std::vector<PlannedProblem> merge_entries(std::vector<Entry> entries, const Selection& selection,
                                          const std::vector<const Provider*>& providers) {
  const auto matches = make_filter(selection.filter);
  std::vector<PlannedProblem> planned;
  std::unordered_map<std::string, std::size_t> index_of;
  for (Entry& entry : entries) {
    Problem problem = selection.seed ? with_seed(entry.problem, *selection.seed) : std::move(entry.problem);
    std::string word = problem.word();
    const auto [at, is_new] = index_of.try_emplace(word, planned.size());
    if (is_new) planned.push_back({std::move(problem), std::move(word), {}, {}});
    PlannedProblem& plan = planned[at->second];
    const std::string label = entry.suite ? entry.suite->suite + "/" + entry.suite->name : "";
    if (entry.suite) plan.suites.push_back(std::move(*entry.suite));
    for (const Provider* provider : providers) {
      const auto& only = entry.providers;
      if (!only.empty() && std::find(only.begin(), only.end(), provider->name()) == only.end()) continue;
      if (!matches(case_key(plan.word, *provider)) && !matches(label)) continue;
      if (std::find(plan.providers.begin(), plan.providers.end(), provider) == plan.providers.end()) {
        plan.providers.push_back(provider);
      }
    }
  }
  std::erase_if(planned, [](const PlannedProblem& plan) { return plan.providers.empty(); });
  return planned;
}

}  // namespace

std::string case_key(const std::string& word, const Provider& provider) {
  return word + " @" + std::string(provider.name());
}

std::vector<PlannedProblem> list_cases(const Selection& selection, const ProviderList& providers) {
  std::vector<PlannedProblem> planned =
      merge_entries(read_inputs(selection), selection, select_providers(selection.providers, providers));
  if (planned.empty()) {
    throw UsageError("--filter", selection.filter, "no case matches; `mla-harness list` shows what there is");
  }
  std::vector<PlannedProblem> shard;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    // Round robin: neighbours in a suite are alike, so each shard gets a like share of the work.
    if (static_cast<int>(i % static_cast<std::size_t>(selection.shard.count)) + 1 == selection.shard.index) {
      shard.push_back(std::move(planned[i]));
    }
  }
  return shard;
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw UsageError("--shard", text, "'i/n' is needed, 1 <= i <= n");
  Shard shard;
  shard.count = static_cast<int>(parse_integer("--shard", std::string_view(text).substr(slash + 1), 1, 100000));
  shard.index = static_cast<int>(parse_integer("--shard", std::string_view(text).substr(0, slash), 1, shard.count));
  return shard;
}

}  // namespace mla::harness
