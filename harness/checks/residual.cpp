#include "harness/checks/residual.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/inputs/output_row.hpp"
#include "harness/inputs/poison.hpp"
#include "reference/error_model.hpp"

namespace mla::harness::checks {

namespace {

// A row that is merely unlucky stays below; what lies beyond is worth explaining.
constexpr double kMaxRms = reference::StatisticalLimits::kRowRms;

// Keeps a row that must be exact, and so has no deviation, from dividing by zero.
constexpr double kNoError = 1e-30;

OutputRow row_of(const DecodeOutputs& outputs, std::int64_t row, int heads) {
  return output_row(outputs, row / heads, static_cast<int>(row % heads));
}

void read_out(const reference::DecodeOracle& oracle, const DecodeOutputs& outputs, int heads,
              const Precision& precision, RowState& state) {
  const reference::RowModel model(oracle, state.row, precision, outputs.out.dtype);
  const Bfloat16* const out = row_of(outputs, state.row, heads).out;
  double error_sum = 0;
  double noise_sum = 0;
  for (int dim = 0; dim < kValueDim; ++dim) {
    const Bfloat16 got = out[dim];
    const double tau = model.standard_error(dim) + kNoError;
    noise_sum += tau * tau;
    if (got.bits == kPoisonBfloat16) {
      ++state.unwritten;
    } else if (!std::isfinite(got.to_float())) {
      ++state.nonfinite;
    } else {
      const double error =
          static_cast<double>(got.to_float()) - oracle.out[static_cast<std::size_t>(state.row * kValueDim + dim)];
      error_sum += error * error / (tau * tau);
    }
  }
  state.rms = std::sqrt(error_sum / kValueDim);
  state.noise = std::sqrt(noise_sum / kValueDim);
}

void read_lse(const reference::DecodeOracle& oracle, const DecodeOutputs& outputs, int heads,
              const Precision& precision, RowState& state) {
  const float got = lse_value(outputs, state.row, heads);
  const double ref = oracle.lse[static_cast<std::size_t>(state.row)];
  state.lse_unwritten = std::bit_cast<std::uint32_t>(got) == kPoisonFloat32;
  if (state.lse_unwritten || (std::isinf(ref) && static_cast<double>(got) == ref)) return;
  state.lse_nonfinite = !std::isfinite(got);
  if (state.lse_nonfinite) return;
  const double bound = reference::lse_bound(oracle, state.row, precision);
  state.lse_ratio = bound > 0 ? std::abs(static_cast<double>(got) - ref) / bound : HUGE_VAL;
}

// "head 5 of 64", "heads 1, 5 of 64", "39 of 64 heads"; empty where it is all of them.
std::string part_text(std::string_view noun, const std::set<int>& members, int total) {
  constexpr std::size_t kListed = 3;
  if (static_cast<int>(members.size()) == total) return {};
  if (members.size() > kListed) return fmt::format("{} of {} {}s", members.size(), total, noun);
  const char* const plural = members.size() == 1 ? "" : "s";
  return fmt::format("{}{} {} of {}", noun, plural, fmt::join(members, ", "), total);
}

}  // namespace

bool RowState::bad() const {
  return unwritten > 0 || nonfinite > 0 || lse_nonfinite || lse_unwritten || rms > kMaxRms || lse_ratio > 1;
}

double RowState::excess() const {
  return std::max(rms / kMaxRms, lse_ratio);
}

float out_value(const DecodeOutputs& outputs, std::int64_t row, int heads, int dim) {
  return row_of(outputs, row, heads).out[dim].to_float();
}

float lse_value(const DecodeOutputs& outputs, std::int64_t row, int heads) {
  return row_of(outputs, row, heads).lse;
}

std::vector<RowState> row_states(const DecodeProblem& problem, const reference::DecodeOracle& oracle,
                                 const DecodeOutputs& outputs, const Precision& precision) {
  const int heads = problem.fields().heads;
  std::vector<RowState> states;
  states.reserve(static_cast<std::size_t>(oracle.rows));
  for (int request = 0; request < problem.batch(); ++request) {
    for (int query = 0; query < problem.q_len(request); ++query) {
      for (int head = 0; head < heads; ++head) {
        RowState state{.row = std::ssize(states), .request = request, .query = query, .head = head};
        read_out(oracle, outputs, heads, precision, state);
        read_lse(oracle, outputs, heads, precision, state);
        states.push_back(state);
      }
    }
  }
  return states;
}

std::string place_text(const DecodeProblem& problem, const std::vector<RowState>& states,
                       bool (*chosen)(const RowState&)) {
  std::set<int> requests;
  std::set<int> all_requests;
  std::set<int> queries;
  std::set<int> heads;
  std::size_t count = 0;
  for (const RowState& state : states) {
    all_requests.insert(state.request);
    if (!chosen(state)) continue;
    requests.insert(state.request);
    queries.insert(state.query);
    heads.insert(state.head);
    ++count;
  }
  if (count == states.size()) return states.size() == 1 ? "the only row" : fmt::format("all {} rows", count);
  std::string text;
  for (const std::string& part :
       {part_text("request", requests, static_cast<int>(all_requests.size())),
        part_text("query row", queries, problem.max_q_len()), part_text("head", heads, problem.fields().heads)}) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  if (text.empty()) return fmt::format("{} of {} rows, spread over all heads and requests", count, states.size());
  // A good part of all is not alone.
  return text.ends_with('s') ? text : text + " alone";
}

}  // namespace mla::harness::checks
