#include "harness/suite/suite.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/group.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/trace_suite.hpp"

namespace mla::harness {

namespace {

constexpr std::string_view kSchemaName = "mla-harness-suite";

void require_schema(const JsonNode& schema) {
  schema.require_keys({"name", "version"});
  if (schema.at("name").text() != kSchemaName) schema.at("name").fail(fmt::format("'{}' is needed", kSchemaName));
  // A later minor version may hold keys that this reader would refuse one by one with a worse message.
  const std::string version = schema.at("version").text();
  if (!version.starts_with("1.0.")) schema.at("version").fail("this program reads version 1.0.x");
}

// Collects cases and applies the rules that hold across the whole suite.
class SuiteBuilder {
 public:
  SuiteBuilder(const JsonNode& root, std::size_t max_cases) : root_(root), max_cases_(max_cases) {}

  void claim_name(const JsonNode& name) {
    if (!names_.insert(name.name()).second) name.fail("the name is given twice in this suite");
  }

  void add_named(SuiteCase named, const JsonNode& node) {
    const auto [known, is_new] = by_word_.emplace(named.problem.word(), cases_.size());
    if (!is_new) {
      node.at("problem").fail(
          fmt::format("cases '{}' and '{}' are the same problem", cases_[known->second].name, named.name));
    }
    append(std::move(named));
  }

  void add_generated(SuiteCase generated) {
    const auto [known, is_new] = by_word_.emplace(generated.problem.word(), cases_.size());
    if (is_new) return append(std::move(generated));
    // A case without providers runs with all of them.
    std::vector<std::string>& providers = cases_[known->second].providers;
    if (generated.providers.empty()) providers.clear();
    if (providers.empty()) return;
    for (std::string& provider : generated.providers) {
      if (std::find(providers.begin(), providers.end(), provider) == providers.end()) {
        providers.push_back(std::move(provider));
      }
    }
  }

  [[nodiscard]] std::size_t room() const { return max_cases_ - cases_.size(); }
  [[nodiscard]] std::vector<SuiteCase> take() { return std::move(cases_); }

 private:
  void append(SuiteCase added) {
    if (room() == 0) root_.fail(fmt::format("at most {} cases are allowed in a suite", max_cases_));
    // Lengths are kept per request: a short word may stand for 65536 of them.
    constexpr std::size_t kMostRequests = std::size_t{1} << 24;
    requests_ += added.problem.visit([](const auto& problem) { return static_cast<std::size_t>(problem.batch()); });
    if (requests_ > kMostRequests) {
      root_.fail(fmt::format("at most {} requests are allowed over all cases of a suite", kMostRequests));
    }
    cases_.push_back(std::move(added));
  }

  const JsonNode& root_;
  std::size_t max_cases_;
  std::size_t requests_ = 0;
  std::vector<SuiteCase> cases_;
  std::set<std::string> names_;
  std::unordered_map<std::string, std::size_t> by_word_;
};

SuiteCase read_case(const JsonNode& node, const std::string& suite) {
  node.require_keys({"name", "problem", "source", "why", "providers"});
  const std::string name = node.at("name").name();
  const JsonNode problem = node.at("problem");
  const std::string word = problem.text();
  try {
    SuiteCase named{Problem::parse(word), suite, name, {}, {}, {}};
    read_origin(node, named);
    return named;
  } catch (const UsageError& error) {
    rethrow_in_file(problem, error);
  }
}

void read_members(const JsonNode& root, const Suite& suite, SuiteBuilder& builder) {
  if (const auto cases = root.find("cases")) {
    for (const JsonNode& node : cases->items()) {
      SuiteCase named = read_case(node, suite.name);
      builder.claim_name(node.at("name"));
      builder.add_named(std::move(named), node);
    }
  }
  if (const auto groups = root.find("groups")) {
    for (const JsonNode& node : groups->items()) {
      builder.claim_name(node.at("name"));
      expand_group(node, suite.name, builder.room(),
                   [&](SuiteCase generated) { builder.add_generated(std::move(generated)); });
    }
  }
  if (const auto traces = root.find("traces")) {
    for (const JsonNode& node : traces->items()) {
      std::vector<SuiteCase> generated = expand_trace(node, suite.name);
      builder.claim_name(node.at("name"));
      for (SuiteCase& one : generated) builder.add_generated(std::move(one));
    }
  }
}

std::string description_of(const JsonNode& root) {
  const auto description = root.find("description");
  return description ? description->text() : std::string();
}

}  // namespace

Suite load_suite(const std::filesystem::path& path, const SuiteOptions& options) {
  const nlohmann::json document = read_strict_json(path, options.json);
  const JsonNode root(document, path.string());
  root.require_keys({"$schema", "schema", "name", "description", "cases", "groups", "traces"});
  require_schema(root.at("schema"));
  Suite suite{root.at("name").name(), description_of(root), path, {}};
  SuiteBuilder builder(root, options.max_cases);
  read_members(root, suite, builder);
  suite.cases = builder.take();
  if (suite.cases.empty()) root.fail("at least one of cases, groups and traces is needed");
  return suite;
}

std::filesystem::path suites_directory() {
  const char* named = std::getenv("MLA_SUITES");
  return named != nullptr && *named != '\0' ? named : MLA_SUITES_DIR;
}

std::vector<BuiltinSuite> builtin_suites() {
  const std::filesystem::path directory = suites_directory();
  std::vector<BuiltinSuite> suites;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".json") continue;
    const nlohmann::json document = read_strict_json(entry.path());
    suites.push_back(
        {entry.path().stem().string(), description_of(JsonNode(document, entry.path().string())), entry.path()});
  }
  if (error) throw UsageError("MLA_SUITES", directory.string(), "it is no directory that can be read");
  std::sort(suites.begin(), suites.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return suites;
}

std::filesystem::path find_suite(std::string_view name_or_path) {
  if (name_or_path.empty()) throw UsageError("suite", name_or_path, "a name or a path is needed");
  const bool is_path = name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
  std::error_code error;
  if (is_path) {
    if (!std::filesystem::exists(name_or_path, error)) throw UsageError("suite", name_or_path, "there is no such file");
    return name_or_path;
  }
  std::filesystem::path file = suites_directory() / (std::string(name_or_path) + ".json");
  if (std::filesystem::exists(file, error)) return file;
  std::string known;
  for (const BuiltinSuite& suite : builtin_suites()) known += (known.empty() ? "" : ", ") + suite.name;
  throw UsageError("suite", name_or_path, fmt::format("a file, or one of {} is needed", known));
}

}  // namespace mla::harness
