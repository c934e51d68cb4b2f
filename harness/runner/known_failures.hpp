// Failures that are known, with who says so and until when: they do not fail a run, but they do not hide either.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/decode_fields.hpp"
#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// One entry of the list.
struct KnownFailure {
  std::string problem;   // the word as written; only the fields that it names must agree
  std::string provider;  // name, or empty for any
  std::string target;    // "cpu" or "gpu", or a part of the kernel's variant or of the GPU's name; empty for any
  std::string kind;      // reason that the failure must have; empty for any
  std::string reason;    // why it fails
  std::string source;    // where that is reported
  std::string expires;   // "2027-01-31": the last day (UTC) on which the entry holds

  /// The fields that `problem` names, and their canonical texts.
  struct NamedField {
    const DecodeField* field;
    std::string text;
  };
  std::vector<NamedField> fields;
};

/// What a case is matched by.
struct KnownFailureQuery {
  const DecodeProblem& problem;
  std::string_view provider;
  std::string_view device;   // "cpu" or "gpu"
  std::string_view variant;  // of the kernel; empty where it never said
  std::string_view gpu;      // its name, or empty
};

/// The list (suites/schema/mla-harness-known-failures-1.0.schema.json).
class KnownFailures {
 public:
  /// Reads a list. Throws UsageError naming file, JSON pointer, value and rule. `today` is "YYYY-MM-DD" in UTC.
  [[nodiscard]] static KnownFailures load(const std::filesystem::path& path, std::string today);

  /// The list that comes with the harness.
  [[nodiscard]] static std::filesystem::path default_file();

  /// Entries that no longer hold.
  [[nodiscard]] std::vector<const KnownFailure*> expired() const;

  /// Turns the verdict of a case's record where an entry matches: a wrong result of the named kind becomes
  /// `known_failure`, a pass `unexpected_pass`. An expired entry changes no verdict; a failure's reason mentions it.
  /// The member `known_failure` says which entry it was and what the case did in fact.
  void apply(const KnownFailureQuery& query, nlohmann::ordered_json& record) const;

 private:
  [[nodiscard]] bool holds(const KnownFailure& entry) const { return today_ <= entry.expires; }
  /// The first entry that holds, else the first that matches.
  [[nodiscard]] const KnownFailure* find(const KnownFailureQuery& query) const;

  std::vector<KnownFailure> entries_;
  std::string today_;
};

}  // namespace mla::harness
