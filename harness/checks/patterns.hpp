// Explanations of a residual, fitted one by one. Detail of localise.
//
// With w_k the softmax weights of a row, v_k its values and O = sum w_k v_k the reference, a set R of tokens (one
// token, a page, the tokens of a split) that weighs f times what it should changes the output by
//   e = c (sum_{k in R} w_k (v_k - O)),  c = (f - 1) / (1 + (f - 1) w_R),  and the lse by ln(1 + (f - 1) w_R);
// one whose values are lost on the way, the weights being right, changes it by -sum w_k v_k and the lse not at all.
// Both are directions that the inputs give: the fit is a projection. Wrong scales and a wrong mask are not small, so
// their outputs are computed anew and compared. Each fit is over several rows at once, in units of each row's noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "harness/checks/residual.hpp"
#include "harness/problem/decode_problem.hpp"
#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::harness::checks {

/// One explanation.
struct Pattern {
  std::string kind;     // as in Locus
  std::string message;  // a clause: "token 7 (page 0, slot 7) has no weight"
  /// Share of the residual's energy that it accounts for, the expected noise taken off: 1 is all of it.
  double explained = 0;
  /// How much freedom it had to fit: what decides between explanations that do about as well.
  double freedom = 0;
};

/// The rows of one request next to what they are made of.
class Evidence {
 public:
  Evidence(const DecodeProblem& problem, const DecodeInputs& inputs, const reference::DecodeOracle& oracle,
           const DecodeOutputs& outputs, const std::vector<RowState>& rows);

  struct Row {
    RowState state;
    std::int64_t visible = 0;
    double lse = 0;        // reference
    double lse_error = 0;  // got - reference; 0 where not finite
    Eigen::VectorXd nope;  // [tokens] the latent part of every logit
    Eigen::VectorXd rope;  // [tokens] and the rope part
    Eigen::VectorXd ref;   // [512]
    Eigen::VectorXd got;   // [512]
    /// e^(logit - lse) of every token, those the row does not see included.
    [[nodiscard]] Eigen::VectorXd weights() const;
  };

  [[nodiscard]] const DecodeProblem& problem() const { return problem_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::int64_t tokens() const { return values_.cols(); }
  [[nodiscard]] const Eigen::MatrixXf& values() const { return values_; }
  /// "token 7 (page 0, slot 7)"
  [[nodiscard]] std::string token_text(std::int64_t token) const;

  /// Energy of the residual over all rows in units of noise, and of `got - predicted[row]`.
  [[nodiscard]] double energy() const;
  [[nodiscard]] double explained(const std::vector<Eigen::VectorXd>& predicted) const;
  /// `captured` energy as a share of what is not noise.
  [[nodiscard]] double share(double captured) const;
  /// Mean over the rows of got - reference of the lse.
  [[nodiscard]] double lse_error() const;

 private:
  const DecodeProblem& problem_;
  int request_;
  Eigen::MatrixXf values_;  // [512, tokens], kv_scale applied
  std::vector<Row> rows_;
};

/// A gain, another row's result, single elements, zeros, the sign: what needs no look at the tokens.
void add_row_patterns(const Evidence& evidence, const reference::DecodeOracle& oracle, std::vector<Pattern>& patterns);

/// Wrong scales, a missing part of the head dimension, a missing mask, V one token off.
void add_recomputed_patterns(const Evidence& evidence, std::vector<Pattern>& patterns);

/// Tokens, pages and ranges with a wrong weight or lost values.
void add_token_patterns(const Evidence& evidence, std::vector<Pattern>& patterns);
void add_range_patterns(const Evidence& evidence, std::vector<Pattern>& patterns);

}  // namespace mla::harness::checks
