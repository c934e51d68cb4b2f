// What a wrong result looks like, in one plain sentence with its evidence: which rows are wrong, and what in the kernel
// would make them so. A lost token, a page read twice, a stale split, a wrong scale each leave a residual that points
// in a direction which the inputs give away; the sentence names the best explanation and how much of the residual it
// explains.
#pragma once

#include <optional>
#include <string>

#include "harness/problem/decode_problem.hpp"
#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::harness {

/// Where a fault lies.
struct Locus {
  /// For programs: "unwritten", "tail_read", "nonfinite", "zero", "sign", "gain", "lse", "other_row", "element",
  /// "softmax_scale", "kv_scale", "rope", "latent", "value_shift", "token", "mask", "page", "range", "unknown".
  std::string kind;
  std::string message;  // one line for people
};

/// Compares the outputs with the oracle of the same inputs once more and looks for the pattern. None where no row is
/// wrong by more than rounding explains. Works on the worst request alone, and on at most 8 of its rows.
[[nodiscard]] std::optional<Locus> localise(const DecodeProblem& problem, const DecodeInputs& inputs,
                                            const reference::DecodeOracle& oracle, const DecodeOutputs& outputs,
                                            const Precision& precision);

}  // namespace mla::harness
