#include "harness/checks/check_decode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/checks/failure_text.hpp"
#include "harness/checks/output_rows.hpp"
#include "harness/checks/spread.hpp"

namespace mla::harness {

namespace {

using checks::Fault;
using checks::TensorFindings;
using checks::TensorName;

constexpr TensorName kOut = {"hard", "out"};
constexpr TensorName kLse = {"lse", "lse"};

TierResult tier_result(const TensorFindings& findings, TensorName name) {
  return {std::string(name.tier), findings.faultless() ? TierVerdict::passed : TierVerdict::failed,
          findings.max_ratio()};
}

double relative_l2(const TensorFindings& out) {
  if (out.error_square_sum == 0) return 0;
  if (out.ref_square_sum == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(out.error_square_sum / out.ref_square_sum);
}

void add_worst(DecodeCheck& check, const TensorFindings& findings, TensorName name, const checks::RowPlaces& places) {
  for (const auto& element : findings.worst_rows) {
    if (!element) continue;
    const checks::RowPlace place = places[element->row];
    WorstElement worst{.tier = std::string(name.tier),
                       .request = place.request,
                       .token = place.token,
                       .head = place.head,
                       .dim = element->dim,
                       .got = element->got,
                       .ref = element->ref,
                       .ratio = element->ratio};
    if (element->fault == Fault::unwritten) worst.got.reset();
    check.worst.push_back(std::move(worst));
  }
}

void add_worst(DecodeCheck& check, const std::vector<checks::RowSpread>& rows, const checks::RowPlaces& places) {
  for (const checks::RowSpread& row : rows) {
    const checks::RowPlace place = places[row.row];
    check.worst.push_back({.tier = "stat",
                           .request = place.request,
                           .token = place.token,
                           .head = place.head,
                           .dim = row.dim,
                           .got = row.got,
                           .ref = row.ref,
                           .ratio = row.ratio()});
  }
}

void add_safety(DecodeCheck& check, const DecodeOutputBuffers& buffers, const DecodeOutputs& outputs, int heads,
                const checks::RowPlaces& places) {
  const auto add = [&](std::optional<CheckFailure> failure) {
    if (!failure) return;
    if (check.canary == "ok") check.canary = failure->message;
    check.failures.push_back(std::move(*failure));
  };
  const std::int64_t tokens = check.rows / heads;
  add(checks::canary_failure(buffers.out));
  add(checks::canary_failure(buffers.lse));
  add(checks::gap_failure(checks::gap_damage(outputs.out, tokens, heads), "out", places));
  add(checks::gap_failure(checks::gap_damage(outputs.lse, tokens, heads), "lse", places));
}

void add_failures(DecodeCheck& check, const checks::Findings& findings, const checks::RowPlaces& places) {
  // By gravity: what was not computed at all explains what follows.
  for (const Fault fault : {Fault::unwritten, Fault::nonfinite, Fault::empty_row, Fault::over_bound}) {
    for (auto failure : {checks::fault_failure(fault, findings.out, kOut, check.rows, places),
                         checks::fault_failure(fault, findings.lse, kLse, check.rows, places)}) {
      if (failure) check.failures.push_back(std::move(*failure));
    }
  }
}

}  // namespace

std::string_view name_of(TierVerdict verdict) {
  switch (verdict) {
    case TierVerdict::passed: return "passed";
    case TierVerdict::failed: return "failed";
    case TierVerdict::skipped: return "skipped";
  }
  return "?";
}

std::string DecodeCheck::failure_kind() const {
  return failures.empty() ? "" : failures.front().kind;
}

std::string message_of(const std::vector<CheckFailure>& failures) {
  std::string text;
  for (const CheckFailure& failure : failures) text += (text.empty() ? "" : "; ") + failure.message;
  return text;
}

std::string DecodeCheck::message() const {
  return message_of(failures);
}

std::optional<CheckFailure> output_damage(const DecodeOutputBuffers& outputs) {
  auto damage = checks::canary_failure(outputs.out);
  return damage ? damage : checks::canary_failure(outputs.lse);
}

DecodeCheck check_decode(const DecodeProblem& problem, const DecodeLayout& layout,
                         const reference::DecodeOracle& oracle, const DecodeOutputBuffers& buffers,
                         const Precision& precision) {
  const int heads = problem.fields().heads;
  const DecodeOutputs outputs = layout.bind(buffers);
  const checks::RowPlaces places(problem);
  const checks::Findings found = checks::compare_rows(outputs, oracle, heads, precision);

  DecodeCheck check;
  check.rows = oracle.rows;
  check.elements = oracle.rows * kValueDim;
  const checks::SpreadJudgement spread =
      checks::judge_spread(found.spread, checks::spread_scope(problem.fields().distribution, precision), places);
  check.tiers = {tier_result(found.out, kOut), spread.tier, tier_result(found.lse, kLse)};
  check.spread = spread.figures;
  check.nonfinite_got = found.out.nonfinite_got + found.lse.nonfinite_got;
  check.nonfinite_ref = found.out.nonfinite_ref + found.lse.nonfinite_ref;
  check.poison_left = found.out.tally(Fault::unwritten).elements + found.lse.tally(Fault::unwritten).elements;
  check.abs_max = found.out.abs_max;
  check.rel_l2 = relative_l2(found.out);
  add_worst(check, found.out, kOut, places);
  add_worst(check, spread.worst, places);
  add_worst(check, found.lse, kLse, places);
  add_safety(check, buffers, outputs, heads, places);
  add_failures(check, found, places);
  // A bound that is exceeded says it better; the tier's verdict stands either way.
  for (const CheckFailure& failure : spread.failures) {
    const TensorFindings& bounded = failure.kind == "lse_spread" ? found.lse : found.out;
    if (bounded.faultless()) check.failures.push_back(failure);
  }
  return check;
}

}  // namespace mla::harness
