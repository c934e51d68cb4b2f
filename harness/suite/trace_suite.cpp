#include "harness/suite/trace_suite.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/group.hpp"
#include "harness/suite/problem_fields.hpp"
#include "harness/suite/trace_quantiles.hpp"

namespace mla::harness {

namespace {

constexpr std::size_t kMostRequests = 10'000'000;

// One step of the simulation that became a case.
struct Snapshot {
  double quantile;
  std::size_t step;
  std::vector<std::int64_t> contexts;
};

void require_snapshots(const std::vector<double>& quantiles) {
  if (quantiles.empty()) throw UsageError("snapshots", "", "at least one quantile is needed");
  for (const double p : quantiles) {
    if (!(p >= 0 && p <= 1)) throw UsageError("snapshots", fmt::format("{}", p), "a number from 0 to 1 is needed");
  }
}

// The steps at the given quantiles of load, without those that another quantile chose already.
std::vector<Snapshot> choose_steps(std::span<const TraceRequest> requests, const TraceOptions& options) {
  constexpr std::size_t kMostSteps = 20'000'000;
  std::vector<std::pair<std::int64_t, std::size_t>> loads;
  for (ContinuousBatching engine(requests, options.batching); engine.step();) {
    if (loads.size() == kMostSteps) {
      throw UsageError("step_ms", fmt::format("{}", options.batching.step_ms),
                       fmt::format("the trace needs more than {} steps; take fewer requests", kMostSteps));
    }
    loads.emplace_back(engine.load(), loads.size());
  }
  if (loads.empty()) throw UsageError("trace", "", "no request has output tokens, so nothing decodes");
  std::sort(loads.begin(), loads.end());
  std::vector<Snapshot> chosen;
  for (const double p : options.snapshots) {
    const std::size_t step = loads[static_cast<std::size_t>(p * static_cast<double>(loads.size() - 1))].second;
    const auto same = [&](const Snapshot& other) { return other.step == step; };
    if (std::none_of(chosen.begin(), chosen.end(), same)) chosen.push_back({p, step, {}});
  }
  return chosen;
}

// The simulation is run twice rather than kept whole: a day of steps would not fit in memory.
std::vector<Snapshot> take_snapshots(std::span<const TraceRequest> requests, const TraceOptions& options) {
  std::vector<Snapshot> snapshots = choose_steps(requests, options);
  ContinuousBatching engine(requests, options.batching);
  std::size_t taken = 0;
  for (std::size_t step = 0; taken < snapshots.size() && engine.step(); ++step) {
    for (Snapshot& snapshot : snapshots) {
      if (snapshot.step != step) continue;
      for (const RunningRequest& running : engine.running()) snapshot.contexts.push_back(running.context);
      ++taken;
    }
  }
  return snapshots;
}

SuiteCase case_of(const Snapshot& snapshot, const std::string& suite, const std::string& name,
                  const std::string& source, const TraceOptions& options) {
  ProblemFields fields(Operation::decode);
  fields.set_model(find_model(options.model), options.tp);
  for (const auto& [field, value] : options.base) fields.set(field, value);
  fields.set("b", fmt::format("{}", snapshot.contexts.size()));
  fields.set("kv", fmt::format("{}", fmt::join(snapshot.contexts, "+")));
  const auto [shortest, longest] = std::minmax_element(snapshot.contexts.begin(), snapshot.contexts.end());
  return {fields.problem(),
          suite,
          fmt::format("{}/load-p{:g}", name, snapshot.quantile * 100),
          source,
          fmt::format("{} running requests of {}..{} tokens", snapshot.contexts.size(), *shortest, *longest),
          {}};
}

std::vector<SuiteCase> cases_of(std::span<const TraceRequest> requests, const std::string& suite,
                                const std::string& name, const std::string& source, const TraceOptions& options) {
  require_snapshots(options.snapshots);
  std::vector<SuiteCase> cases;
  for (const Snapshot& snapshot : take_snapshots(requests, options)) {
    SuiteCase made = case_of(snapshot, suite, name, source, options);
    const auto same = [&](const SuiteCase& other) { return other.problem == made.problem; };
    if (std::none_of(cases.begin(), cases.end(), same)) cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<TraceQuantiles> builtin_tables() {
  return load_trace_quantiles(suites_directory() / "data" / "trace-quantiles.json");
}

std::vector<SuiteCase> builtin_cases(const TraceQuantiles& table, const std::string& suite, const std::string& name,
                                     const TraceOptions& options) {
  if (options.requests < 1 || options.requests > kMostRequests) {
    throw UsageError("requests", std::to_string(options.requests), fmt::format("1 to {} are allowed", kMostRequests));
  }
  const std::vector<TraceRequest> requests = sample_requests(table, options.requests, options.seed);
  return cases_of(requests, suite, name, fmt::format("{} ({})", table.source, table.licence), options);
}

// A name for cases out of a file name, which may hold anything.
std::string name_from(const std::filesystem::path& file) {
  std::string name = file.stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  return name.empty() ? "trace" : name;
}

TraceOptions read_options(const JsonNode& node) {
  TraceOptions options;
  if (const auto key = node.find("model")) options.model = key->text();
  if (const auto key = node.find("tp")) options.tp = static_cast<int>(key->integer(1, 1024));
  if (const auto key = node.find("max_batch")) options.batching.max_batch = static_cast<int>(key->integer(1, 65536));
  if (const auto key = node.find("max_context")) options.batching.max_context = key->integer(2, 1 << 22);
  if (const auto key = node.find("step_ms")) options.batching.step_ms = key->real(0.01, 60'000);
  if (const auto key = node.find("rate")) options.batching.rate = key->real(1e-3, 1e6);
  if (const auto key = node.find("shrink")) options.batching.shrink = key->real(1, 1e6);
  if (const auto key = node.find("requests")) options.requests = static_cast<std::size_t>(key->integer(1, 1'000'000));
  if (const auto key = node.find("seed")) options.seed = static_cast<std::uint64_t>(key->integer(0, INT64_MAX));
  if (const auto key = node.find("snapshots")) {
    options.snapshots.clear();
    for (const JsonNode& p : key->items()) options.snapshots.push_back(p.real(0, 1));
  }
  if (const auto key = node.find("base")) {
    for (const auto& [field, value] : key->members()) options.base.emplace(field, field_text(value));
  }
  return options;
}

}  // namespace

std::vector<std::string> builtin_traces() {
  std::vector<std::string> names;
  for (const TraceQuantiles& table : builtin_tables()) names.push_back(table.name);
  return names;
}

Suite make_trace_suite(const std::string& file_or_builtin, const TraceOptions& options) {
  Suite suite{"trace", "Decode batches of " + file_or_builtin + " under continuous batching", {}, {}};
  for (const TraceQuantiles& table : builtin_tables()) {
    if (table.name != file_or_builtin) continue;
    suite.cases = builtin_cases(table, suite.name, table.name, options);
    return suite;
  }
  std::error_code error;
  if (file_or_builtin.find_first_of("./") == std::string::npos && !std::filesystem::exists(file_or_builtin, error)) {
    throw UsageError("trace", file_or_builtin,
                     fmt::format("a file, or one of {} is needed", fmt::join(builtin_traces(), ", ")));
  }
  suite.file = file_or_builtin;
  const std::vector<TraceRequest> requests = read_trace(suite.file, std::min(options.requests, kMostRequests));
  suite.cases = cases_of(requests, suite.name, name_from(suite.file), suite.file.filename().string(), options);
  return suite;
}

std::vector<SuiteCase> expand_trace(const JsonNode& node, const std::string& suite) {
  node.require_keys({"name", "source", "model", "tp", "base", "max_batch", "max_context", "step_ms", "rate", "shrink",
                     "snapshots", "requests", "seed"});
  const std::string name = node.at("name").name();
  const TraceOptions options = read_options(node);
  const JsonNode source = node.at("source");
  try {
    for (const TraceQuantiles& table : builtin_tables()) {
      if (table.name == source.text()) return builtin_cases(table, suite, name, options);
    }
  } catch (const UsageError& error) {
    rethrow_in_file(node, error);
  }
  source.fail(fmt::format("one of {} is needed", fmt::join(builtin_traces(), ", ")));
}

}  // namespace mla::harness
