// Which rows are wrong and by how much, for localise. Detail of localise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/problem/decode_problem.hpp"
#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::harness::checks {

/// One row of the outputs, seen next to its reference.
struct RowState {
  std::int64_t row = 0;  // token * H + head
  int request = 0;
  int query = 0;  // within the request
  int head = 0;
  int unwritten = 0;  // elements of out
  int nonfinite = 0;
  bool lse_nonfinite = false;  // and its reference is finite
  bool lse_unwritten = false;
  double rms = 0;        // of the error in units of its expected deviation
  double noise = 0;      // root mean square of that deviation over the row
  double lse_ratio = 0;  // |lse - reference| / bound

  [[nodiscard]] bool bad() const;
  /// For ranking: how far from what rounding explains.
  [[nodiscard]] double excess() const;
};

/// Every row, in order.
[[nodiscard]] std::vector<RowState> row_states(const DecodeProblem& problem, const reference::DecodeOracle& oracle,
                                               const DecodeOutputs& outputs, const Precision& precision);

/// "every row", "head 5 of 64 alone", "request 1 of 3, head 5 of 64 alone": the rows of `states` for which `chosen`
/// holds.
[[nodiscard]] std::string place_text(const DecodeProblem& problem, const std::vector<RowState>& states,
                                     bool (*chosen)(const RowState&));

[[nodiscard]] float out_value(const DecodeOutputs& outputs, std::int64_t row, int heads, int dim);
[[nodiscard]] float lse_value(const DecodeOutputs& outputs, std::int64_t row, int heads);

}  // namespace mla::harness::checks
