// Is a decode result right? Every element against the hard bound, every row's log-sum-exp against its own, and no byte
// written where none belongs.
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

enum class TierVerdict : std::uint8_t { passed, failed };

[[nodiscard]] std::string_view name_of(TierVerdict verdict);

/// One kind of evidence about the numbers.
struct TierResult {
  std::string name;  // "hard": every element of out; "lse": every row's log-sum-exp
  TierVerdict verdict = TierVerdict::passed;
  /// Largest |got - reference| / bound; 1 is the limit. Infinite where an element was not written, is NaN or infinite
  /// and should not be, or where no error at all is allowed.
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

/// Something that is wrong, for people.
struct CheckFailure {
  std::string kind;     // "canary", "gap_written", "unwritten", "nonfinite", "empty_row", "hard_bound", "lse_bound"
  std::string message;  // one line
};

/// What a check found.
struct DecodeCheck {
  std::int64_t elements = 0;  // of out: T * H * 512
  std::int64_t rows = 0;      // T * H
  std::vector<TierResult> tiers;
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
[[nodiscard]] DecodeCheck check_decode(const DecodeProblem& problem, const DecodeLayout& layout,
                                       const reference::DecodeOracle& oracle, const DecodeOutputBuffers& outputs,
                                       const Precision& precision);

}  // namespace mla::harness
