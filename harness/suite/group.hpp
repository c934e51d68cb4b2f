// Groups of a suite: a base, axes, and the cases they span.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/core/error.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/problem_fields.hpp"
#include "harness/suite/suite.hpp"

namespace mla::harness {

/// The cases of one group of a suite:
///   {"name", "operation": "decode", "model", "tp",     model and tp give h and scale
///    "base": {field: value},                           fields that all cases share
///    "axes": {field: [values]},                        the product of these, or
///    "pairwise": true,                                 rows that hold every pair of values
///    "zip": {field: [values], ...},                    equally long lists that advance together, one more axis
///    "max_total_kv": N,                                cases with more context tokens over all requests are left out
///    "source", "why", "providers"}
/// Axes advance in the order of the names, zip first, the last one fastest. Cases go to `sink` one by one, so that it
/// can stop a group that grows too large. Throws UsageError before making any case where there would be more than
/// `max_cases`.
void expand_group(const JsonNode& group, const std::string& suite, std::size_t max_cases,
                  const std::function<void(SuiteCase)>& sink);

/// Reads what a group, a trace and a case have in common: source, why, providers.
void read_origin(const JsonNode& node, SuiteCase& target);

/// Reads operation, model, tp and base into fields.
[[nodiscard]] ProblemFields read_base(const JsonNode& node);

/// Adds file and JSON pointer to an error about a problem that knows neither.
[[noreturn]] void rethrow_in_file(const JsonNode& node, const UsageError& error);

}  // namespace mla::harness
