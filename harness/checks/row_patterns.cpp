#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "harness/checks/patterns.hpp"

namespace mla::harness::checks {

namespace {

std::vector<Eigen::VectorXd> references(const Evidence& evidence, double factor) {
  std::vector<Eigen::VectorXd> scaled;
  for (const Evidence::Row& row : evidence.rows()) scaled.push_back(factor * row.ref);
  return scaled;
}

bool near(double value, double target) {
  return std::abs(value / target - 1) < 0.02;
}

// What a gain of the whole output may stand for.
std::string gain_text(const DecodeProblem& problem, double gain) {
  const double scale = problem.fields().kv_scale;
  if (scale != 1 && near(gain, 1 / scale)) return "1 / kv_scale: kv_scale is ignored in the output";
  if (scale != 1 && near(gain, scale)) return "kv_scale: it is applied twice in the output";
  return {};
}

void add_gain(const Evidence& evidence, std::vector<Pattern>& patterns) {
  double dot = 0;
  double norm = 0;
  for (const Evidence::Row& row : evidence.rows()) {
    const double weight = 1 / (row.state.noise * row.state.noise);
    dot += weight * row.got.dot(row.ref);
    norm += weight * row.ref.squaredNorm();
  }
  if (norm == 0) return;
  const double gain = dot / norm;
  const double explained = evidence.explained(references(evidence, gain));
  const std::string meaning = gain_text(evidence.problem(), gain);
  if (near(gain, -1)) {
    patterns.push_back({"sign", "the output has the wrong sign", explained, 0});
  } else if (std::abs(gain) > 0.01) {
    const double lse = evidence.lse_error();
    const bool row_sum = std::abs(lse + std::log(std::abs(gain))) < 0.1 * std::abs(std::log(std::abs(gain)));
    const std::string rest = row_sum            ? ", and lse is off by minus its logarithm: the row sum is wrong"
                             : !meaning.empty() ? " = " + meaning
                                                : ", lse aside: the normalisation or a scale of the output is wrong";
    patterns.push_back({meaning.empty() ? "gain" : "kv_scale",
                        fmt::format("the output is {:.4f} x the reference{}", gain, rest), explained, 0.5});
  }
}

void add_zero(const Evidence& evidence, std::vector<Pattern>& patterns) {
  for (const Evidence::Row& row : evidence.rows()) {
    if (!row.got.isZero(0)) return;
  }
  patterns.push_back({"zero", "the output is zero", 1, 0});
}

// All the error in a few of the 512 dimensions.
void add_elements(const Evidence& evidence, std::vector<Pattern>& patterns) {
  constexpr int kFew = 4;
  const Evidence::Row& row = evidence.rows().front();
  const Eigen::VectorXd error = (row.got - row.ref).cwiseAbs2();
  std::vector<int> dims(kValueDim);
  for (int dim = 0; dim < kValueDim; ++dim) dims[static_cast<std::size_t>(dim)] = dim;
  std::partial_sort(dims.begin(), dims.begin() + kFew, dims.end(), [&](int a, int b) { return error[a] > error[b]; });
  double captured = 0;
  int count = 0;
  const double signal = error.sum() - kValueDim * row.state.noise * row.state.noise;
  while (count < kFew && captured < 0.95 * signal) captured += error[dims[static_cast<std::size_t>(count++)]];
  if (signal <= 0 || captured < 0.95 * signal) return;
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", dims[static_cast<std::size_t>(i)]);
  patterns.push_back({"element",
                      fmt::format("{} {} alone {} wrong", count == 1 ? "dim" : "dims", list, count == 1 ? "is" : "are"),
                      std::min(1.0, captured / signal), 0.2});
}

// The result of another row of the batch.
void add_other_row(const Evidence& evidence, const reference::DecodeOracle& oracle, std::vector<Pattern>& patterns) {
  const Evidence::Row& row = evidence.rows().front();
  const int heads = evidence.problem().fields().heads;
  std::int64_t best = -1;
  double least = 0;
  for (std::int64_t other = 0; other < oracle.rows; ++other) {
    const Eigen::Map<const Eigen::VectorXd> ref(oracle.out.data() + other * kValueDim, kValueDim);
    const double distance = (row.got - ref).squaredNorm();
    if (best < 0 || distance < least) {
      best = other;
      least = distance;
    }
  }
  if (best < 0 || best == row.state.row) return;
  const double error = (row.got - row.ref).squaredNorm();
  const double noise = kValueDim * row.state.noise * row.state.noise;
  const double explained = std::clamp((error - least) / std::max(error - noise, 1e-300), 0.0, 1.0);
  patterns.push_back({"other_row",
                      fmt::format("head {} of output row {} holds the result of head {} of row {}", row.state.head,
                                  row.state.row / heads, best % heads, best / heads),
                      explained, 0.5});
}

}  // namespace

void add_row_patterns(const Evidence& evidence, const reference::DecodeOracle& oracle, std::vector<Pattern>& patterns) {
  add_zero(evidence, patterns);
  add_gain(evidence, patterns);
  add_elements(evidence, patterns);
  add_other_row(evidence, oracle, patterns);
}

}  // namespace mla::harness::checks
