// Is a decode result right? Every element against the hard bound, every row against the spread that rounding leaves,
// every row's log-sum-exp against its own bound, and no byte written where none belongs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/decode_problem.hpp"
#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::harness {

enum class TierVerdict : std::uint8_t { passed, failed, skipped };

[[nodiscard]] std::string_view name_of(TierVerdict verdict);

/// One kind of evidence about the numbers.
struct TierResult {
  std::string name;  // "hard": every element of out; "stat": every row's spread; "lse": every row's log-sum-exp
  TierVerdict verdict = TierVerdict::passed;
  /// Largest |got - reference| / bound, in "stat" the largest statistic over its limit; 1 is the limit. Infinite where
  /// an element was not written, is NaN or infinite and should not be, or where no error at all is allowed.
  double max_ratio = 0;
};

/// The worst element of one row.
struct WorstElement {
  std::string tier;
  int request = 0;
  std::int64_t token = 0;  // row of the tensors, 0 <= token < T, not counted from the request's first
  int head = 0;
  std::optional<int> dim;     // none in tier "lse"
  std::optional<double> got;  // none where nothing was written
  double ref = 0;
  double ratio = 0;
};

/// Tier S in numbers: how the errors are spread in units of what independent roundings explain.
struct SpreadResult {
  double rms = 0;      // of z over all elements: near 1 where the error model describes the kernel; a figure to watch
  double row_rms = 0;  // largest of a row
  double z_max = 0;    // largest |z|
  /// Slope of got on reference over the rows in which several tokens weigh; none where there is none, or the reference
  /// is 0 throughout.
  std::optional<double> slope;
  std::optional<double> slope_error;  // standard error that rounding leaves of it
  /// Largest |slope - 1| allowed; none where the slope is recorded and not judged.
  std::optional<double> slope_limit;
};

/// Something that is wrong, for people.
struct CheckFailure {
  std::string kind;     // "canary", "gap_written", "unwritten", "nonfinite", "empty_row", "hard_bound", "spread",
                        // "lse_spread", "slope", "lse_bound"
  std::string message;  // one line
};

/// All of them in one line.
[[nodiscard]] std::string message_of(const std::vector<CheckFailure>& failures);

/// What a check found.
struct DecodeCheck {
  std::int64_t elements = 0;  // of out: T * H * 512
  std::int64_t rows = 0;      // T * H
  std::vector<TierResult> tiers;
  SpreadResult spread;
  std::int64_t nonfinite_got = 0;  // NaN and infinite elements of out and lse, unwritten ones not counted
  std::int64_t nonfinite_ref = 0;
  double abs_max = 0;               // largest |got - reference| over the finite elements of out
  double rel_l2 = 0;                // ||got - reference|| / ||reference|| over the finite elements of out
  std::vector<WorstElement> worst;  // of the worst few rows of each tier, by falling ratio
  std::int64_t poison_left = 0;     // elements of out and lse that were not written
  std::string canary = "ok";        // or what was overwritten
  std::vector<CheckFailure> failures;

  [[nodiscard]] bool passed() const { return failures.empty(); }
  /// Kind of the gravest failure; empty where there is none.
  [[nodiscard]] std::string failure_kind() const;
  /// All failures in one line, the gravest first; empty where there is none.
  [[nodiscard]] std::string message() const;
};

/// Compares `outputs`, poisoned before the run, with the oracle of the same inputs. Every bound follows from the error
/// model (reference/error_model.hpp) and the precision that the implementation declares; nothing is tuned, so that an
/// implementation that keeps its declaration cannot be reported. Rows that see no token must hold exactly 0 and -inf.
///
/// Tier "stat" takes roundings for independent. Those of fp8 P under a near-uniform softmax are not: there it is
/// skipped. Nor does the gain of fp8 P average out where p falls evenly (a ramp) or mostly underflows: with fp8 P the
/// slope is judged on randn, sharp and heavy contents alone. Elsewhere it is, from 32 rows on in which several tokens
/// weigh.
[[nodiscard]] DecodeCheck check_decode(const DecodeProblem& problem, const DecodeLayout& layout,
                                       const reference::DecodeOracle& oracle, const DecodeOutputBuffers& outputs,
                                       const Precision& precision);

/// Whether a canary around the outputs is damaged: for runs whose numbers are compared with those of a run that was
/// checked in full.
[[nodiscard]] std::optional<CheckFailure> output_damage(const DecodeOutputBuffers& outputs);

}  // namespace mla::harness
