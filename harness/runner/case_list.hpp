// Which cases a run consists of: suites and problem words, narrowed by provider, filter and shard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/problem/problem.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// Where a problem came from.
struct SuiteMembership {
  std::string suite;
  std::string name;
  std::string source;  // the public bug or trace behind the case, "" for a grid point
};

/// One problem and the providers to run it on. They share its inputs and oracle.
struct PlannedProblem {
  Problem problem;
  std::string word;
  std::vector<SuiteMembership> suites;
  std::vector<const Provider*> providers;
};

struct Shard {
  int index = 1;  // from 1
  int count = 1;
};

struct Selection {
  std::vector<std::string> inputs;     // suite names, suite files, or problem words
  std::vector<std::string> providers;  // empty means all that run by default
  std::string filter;                  // regular expression searched in the key and in "suite/name"; empty means all
  std::optional<std::uint64_t> seed;   // given to every problem whose word names none
  Shard shard;
  std::string trace;  // request trace for the trace suite; empty means the built-in tables
};

/// "word @provider": the name of a case in reports.
[[nodiscard]] std::string case_key(const std::string& word, const Provider& provider);

/// Reads the inputs and narrows them; the same problem from several inputs is one case. Throws UsageError where an
/// input is malformed, a provider is unknown, or nothing is left to run.
[[nodiscard]] std::vector<PlannedProblem> list_cases(const Selection& selection, const ProviderList& providers);

/// Reads "i/n"; throws UsageError.
[[nodiscard]] Shard parse_shard(const std::string& text);

}  // namespace mla::harness
