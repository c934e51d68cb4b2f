#include "harness/checks/localise.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "harness/checks/patterns.hpp"
#include "harness/checks/residual.hpp"

namespace mla::harness {

namespace {

using checks::Evidence;
using checks::Pattern;
using checks::RowState;

// More tokens than this are not projected upon: a gigabyte of values to say what a shorter problem says too.
constexpr std::int64_t kMostTokens = 1 << 16;
constexpr std::size_t kMostRows = 8;

bool is_unwritten(const RowState& row) {
  return row.unwritten > 0 || row.lse_unwritten;
}
bool is_nonfinite(const RowState& row) {
  return row.nonfinite > 0 || row.lse_nonfinite;
}
bool is_bad(const RowState& row) {
  return row.bad();
}

bool any(const std::vector<RowState>& states, bool (*chosen)(const RowState&)) {
  return std::any_of(states.begin(), states.end(), chosen);
}

Locus unwritten_locus(const DecodeProblem& problem, const std::vector<RowState>& states) {
  std::int64_t whole = 0;
  std::int64_t rows = 0;
  for (const RowState& state : states) {
    rows += is_unwritten(state) ? 1 : 0;
    whole += state.unwritten == kValueDim ? 1 : 0;
  }
  const std::string what = whole == rows ? fmt::format("{} whole row{}", rows, rows == 1 ? " is" : "s are")
                                         : fmt::format("parts of {} row{}", rows, rows == 1 ? " are" : "s are");
  const bool last = is_unwritten(states.back()) && whole == rows && rows < std::ssize(states) &&
                    is_unwritten(states[states.size() - static_cast<std::size_t>(rows)]);
  return {"unwritten", fmt::format("{} not written{}: {}", what, last ? ", the last of the tensor" : "",
                                   checks::place_text(problem, states, is_unwritten))};
}

// NaN in those requests and only those whose last page has an unused tail, which holds NaN.
bool follows_tails(const DecodeProblem& problem, const std::vector<RowState>& states) {
  for (const RowState& state : states) {
    const bool tail = problem.kv_len(state.request) % problem.fields().page_size != 0;
    if (is_nonfinite(state) && !tail) return false;
    // The last query row of a request sees its whole context, so it must show what its tail holds.
    const bool last = state.query + 1 == problem.q_len(state.request) || !problem.fields().causal;
    if (last && tail && !is_nonfinite(state)) return false;
  }
  return true;
}

Locus nonfinite_locus(const DecodeProblem& problem, const std::vector<RowState>& states) {
  const std::string where = checks::place_text(problem, states, is_nonfinite);
  const bool lse = any(states, [](const RowState& row) { return row.lse_nonfinite; });
  const std::string depth = lse ? "scores and all" : "with weight 0, lse being finite";
  if (follows_tails(problem, states)) {
    return {"tail_read",
            fmt::format("NaN in {}, just where the last page has an unused tail: that tail is read, {}", where, depth)};
  }
  return {"nonfinite", fmt::format("NaN or infinity in {}: memory that nobody may read (an unreferenced page, a stale "
                                   "or empty split) is read, {}",
                                   where, depth)};
}

// The worst rows of the worst request.
std::vector<RowState> worst_rows(const std::vector<RowState>& states) {
  const auto worst = std::max_element(states.begin(), states.end(),
                                      [](const RowState& a, const RowState& b) { return a.excess() < b.excess(); });
  std::vector<RowState> rows;
  for (const RowState& state : states) {
    if (state.request == worst->request && state.bad()) rows.push_back(state);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RowState& a, const RowState& b) { return a.excess() > b.excess(); });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

// The output is right, or too noisy to tell; the lse is not.
std::optional<Pattern> lse_pattern(const Evidence& evidence) {
  constexpr double kPerBit = 1.4426950408889634;
  const Evidence::Row& row = evidence.rows().front();
  if (row.state.rms > 1.7 || row.state.lse_ratio <= 1) return std::nullopt;
  const double ratio = (row.lse + row.lse_error) / row.lse;
  if (std::abs(ratio / kPerBit - 1) < 1e-3) return Pattern{"lse", "lse is in base 2, not e", 1, 0};
  const double missing = -std::expm1(row.lse_error);
  return Pattern{"lse",
                 fmt::format("lse is off by {:+.2e}, as if a share of {:.3g} of the weights were {}, and the output "
                             "does not show which",
                             row.lse_error, std::abs(missing), missing > 0 ? "missing" : "counted twice"),
                 1, 1};
}

Pattern best_pattern(const Evidence& evidence, const reference::DecodeOracle& oracle) {
  std::vector<Pattern> patterns;
  checks::add_row_patterns(evidence, oracle, patterns);
  checks::add_recomputed_patterns(evidence, patterns);
  checks::add_token_patterns(evidence, patterns);
  checks::add_range_patterns(evidence, patterns);
  const auto score = [](const Pattern& pattern) { return pattern.explained - 0.02 * pattern.freedom; };
  const auto best = std::max_element(patterns.begin(), patterns.end(),
                                     [&](const Pattern& a, const Pattern& b) { return score(a) < score(b); });
  constexpr double kConvincing = 0.6;
  if (best != patterns.end() && best->explained >= kConvincing) return *best;
  if (const auto lse = lse_pattern(evidence)) return *lse;
  return {"unknown", "the residual fits no single token, page, split or scale", 0, 0};
}

}  // namespace

std::optional<Locus> localise(const DecodeProblem& problem, const DecodeInputs& inputs,
                              const reference::DecodeOracle& oracle, const DecodeOutputs& outputs,
                              const Precision& precision) {
  const std::vector<RowState> states = checks::row_states(problem, oracle, outputs, precision);
  if (!any(states, is_bad)) return std::nullopt;
  if (any(states, is_unwritten)) return unwritten_locus(problem, states);
  if (any(states, is_nonfinite)) return nonfinite_locus(problem, states);

  const std::string where = checks::place_text(problem, states, is_bad);
  const std::vector<RowState> rows = worst_rows(states);
  const std::int64_t visible = oracle.visible[static_cast<std::size_t>(rows.front().row)];
  if (visible == 0) return Locus{"empty_row", "rows that see no token hold a result: " + where};
  if (problem.kv_len(rows.front().request) > kMostTokens) {
    return Locus{"unknown", where + ": the context is too long to look at every token; `shrink` finds a shorter one"};
  }
  const Evidence evidence(problem, inputs, oracle, outputs, rows);
  const Pattern pattern = best_pattern(evidence, oracle);
  const std::string share = pattern.kind == "unknown" || pattern.kind == "lse"
                                ? ""
                                : fmt::format(" ({:.0f} % of the residual)", 100 * pattern.explained);
  return Locus{pattern.kind, fmt::format("{}: {}{}", where, pattern.message, share)};
}

}  // namespace mla::harness
