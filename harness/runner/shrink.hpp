// From a failing problem to a small one that fails in the same way.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

struct ShrinkOptions {
  double budget_seconds = 60;
  double timeout_seconds = 20;  // of one try
  bool isolate = true;
  std::FILE* progress = stderr;  // a line a step; null for none
};

struct ShrinkResult {
  DecodeProblem problem;           // the smallest found
  nlohmann::ordered_json outcome;  // verdict, reason and the rest of its record
  int tries = 0;
  bool finished = true;  // false where the budget ended or the user interrupted before nothing more could be left out
};

/// Takes out requests, context, heads and query tokens, sets other fields to their defaults, and keeps each change with
/// which `provider` still fails in the same way: the same verdict and the same family of reason (wrong numbers, NaN,
/// unwritten, a stray write, a signal, ...). Every try runs as a case of a run does, checks only. The order of tries
/// is fixed, so the same problem gives the same answer unless the budget ends first. Throws UsageError where the
/// problem does not fail.
[[nodiscard]] ShrinkResult shrink(const DecodeProblem& problem, const Provider& provider, const ShrinkOptions& options);

}  // namespace mla::harness
