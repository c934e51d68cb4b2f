// Suites: named sets of problems, kept as JSON data (suites/schema/mla-harness-suite-1.0.schema.json).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/problem.hpp"
#include "harness/suite/strict_json.hpp"

namespace mla::harness {

struct SuiteCase {
  Problem problem;
  std::string suite;
  std::string name;                    // unique in its suite: a case's own name, or GROUP/field=value,...
  std::string source;                  // where the case comes from, e.g. "aiter#2106"
  std::string why;                     // what it would reveal
  std::vector<std::string> providers;  // the only providers to run it with; empty: all
};

struct Suite {
  std::string name;
  std::string description;
  std::filesystem::path file;
  std::vector<SuiteCase> cases;
};

struct SuiteOptions {
  std::size_t max_cases = 100'000;
  JsonLimits json;
};

/// Reads a suite. Its cases come in the file's order: named cases, groups, traces. Within a suite every problem appears
/// once: two named cases with the same problem are an error; a group or trace that makes a problem again adds only its
/// providers to the case that has it, because a grid may well pass through a named case or another grid's corner.
/// Throws UsageError naming file, JSON pointer, value and rule; nothing has run by then.
[[nodiscard]] Suite load_suite(const std::filesystem::path& path, const SuiteOptions& options = {});

/// Where the suites that come with the harness lie: the environment variable MLA_SUITES, or the source tree's.
[[nodiscard]] std::filesystem::path suites_directory();

/// The file that a command line means: a bare name such as `smoke` is a suite that comes with the harness, anything
/// with a '/' or ending in ".json" is a path. Throws UsageError naming the known suites.
[[nodiscard]] std::filesystem::path find_suite(std::string_view name_or_path);

struct BuiltinSuite {
  std::string name;
  std::string description;
  std::filesystem::path file;
};

/// The suites that come with the harness, by name, without expanding them.
[[nodiscard]] std::vector<BuiltinSuite> builtin_suites();

}  // namespace mla::harness
