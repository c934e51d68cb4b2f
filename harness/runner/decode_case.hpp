// The two pieces of work that run in child processes for a decode problem: making its inputs and oracle once, and
// running one provider on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/inputs/buffer.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"
#include "harness/runner/measurement.hpp"
#include "harness/runner/mode.hpp"
#include "harness/timing/ceilings.hpp"

namespace mla::harness {

/// Bytes of the arena that holds a problem's inputs and oracle, and how many of them will really be touched.
struct ArenaNeed {
  std::size_t reserved = 0;
  std::size_t resident = 0;
};
[[nodiscard]] ArenaNeed decode_arena_need(const DecodeProblem& problem, const DecodeLayout& layout);

/// Fills `arena` with inputs and oracle. Returns JSON: {"digest", "inputs_ms", "reference_ms"}.
[[nodiscard]] std::string prepare_decode(const DecodeProblem& problem, const DecodeLayout& layout, Arena& arena);

struct DecodeCaseContext {
  const DecodeProblem& problem;
  const DecodeLayout& layout;
  const Provider& provider;
  int arena_descriptor = -1;  // filled by prepare_decode
  std::string input_digest;
  RunMode mode = RunMode::check_and_measure;
  std::span<const Ceiling> ceilings;
  bool metamorphic = false;  // check the metamorphic relations too
  MeasureOptions measure = {};
};

/// Runs, checks and measures one provider. Returns JSON with the members of a report's case that this determines:
/// verdict, reason, locus, kernel, correctness, safety, metamorphic, performance, elapsed_ms.
[[nodiscard]] std::string run_decode_case(const DecodeCaseContext& context);

}  // namespace mla::harness
