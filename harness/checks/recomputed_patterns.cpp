#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/checks/patterns.hpp"

namespace mla::harness::checks {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

// The kernel as it would be with one thing changed.
struct Change {
  double latent = 1;  // factors of the two parts of the logits
  double rope = 1;
  double output = 1;
  bool masked = true;
  int shift = 0;  // V of token k + shift in place of V of token k, within blocks of 64
};

VectorXd softmax(const Evidence::Row& row, const Change& change) {
  const Index seen = change.masked ? static_cast<Index>(row.visible) : row.nope.size();
  VectorXd p = VectorXd::Zero(row.nope.size());
  if (seen == 0) return p;
  const VectorXd logits = change.latent * row.nope.head(seen) + change.rope * row.rope.head(seen);
  const double maximum = logits.maxCoeff();
  p.head(seen) = (logits.array() - maximum).exp().matrix();
  return p / p.sum();
}

VectorXd shifted(const VectorXd& p, int shift) {
  constexpr Index kBlock = 64;
  VectorXd result = VectorXd::Zero(p.size());
  for (Index begin = 0; begin < p.size(); begin += kBlock) {
    const Index count = std::min(kBlock, p.size() - begin);
    for (Index k = 0; k < count; ++k) result[begin + (k + shift + count) % count] += p[begin + k];
  }
  return result;
}

std::vector<VectorXd> recompute(const Evidence& evidence, const Change& change) {
  std::vector<VectorXd> outputs;
  for (const Evidence::Row& row : evidence.rows()) {
    VectorXd p = softmax(row, change);
    if (change.shift != 0) p = shifted(p, change.shift);
    outputs.push_back(change.output * (evidence.values() * p.cast<float>()).cast<double>());
  }
  return outputs;
}

// The factor of all logits that fits best, from 1 on by Gauss-Newton.
double fitted_factor(const Evidence& evidence) {
  double factor = 1;
  for (int step = 0; step < 12; ++step) {
    double dot = 0;
    double norm = 0;
    for (const Evidence::Row& row : evidence.rows()) {
      const VectorXd p = softmax(row, {.latent = factor, .rope = factor});
      const VectorXd out = (evidence.values() * p.cast<float>()).cast<double>();
      const VectorXd logits = row.nope + row.rope;
      const VectorXd slope = p.cwiseProduct((logits.array() - p.dot(logits)).matrix());
      const VectorXd direction = (evidence.values() * slope.cast<float>()).cast<double>();
      const double weight = 1 / (row.state.noise * row.state.noise);
      dot += weight * direction.dot(row.got - out);
      norm += weight * direction.squaredNorm();
    }
    if (norm == 0) return 1;
    const double change = std::clamp(dot / norm, -0.5 * factor, factor);
    factor += change;
    if (std::abs(change) < 1e-6) break;
  }
  return factor;
}

struct Candidate {
  const char* kind;
  const char* message;
  Change change;
  double freedom;
};

std::vector<Candidate> candidates(const DecodeProblem& problem) {
  std::vector<Candidate> list = {
      {"rope", "the rope part of the head dimension is ignored", {.rope = 0}, 0},
      {"rope", "the rope part of the head dimension is counted twice", {.rope = 2}, 0},
      {"latent", "the latent part of the logits is ignored", {.latent = 0}, 0},
      {"mask", "the causal mask is missing", {.masked = false}, 0},
      {"value_shift", "V is one token ahead of P within blocks of 64", {.shift = 1}, 0.5},
      {"value_shift", "V is one token behind P within blocks of 64", {.shift = -1}, 0.5},
  };
  const auto& fields = problem.fields();
  if (fields.kv_scale != 1) {
    const double k = fields.kv_scale;
    list.push_back({"kv_scale",
                    "kv_scale is ignored, in the logits and in the output",
                    {.latent = 1 / k, .rope = 1 / k, .output = 1 / k},
                    0});
    list.push_back({"kv_scale", "kv_scale is ignored in the logits", {.latent = 1 / k, .rope = 1 / k}, 0});
    list.push_back({"kv_scale", "kv_scale is applied twice in the logits", {.latent = k, .rope = k}, 0});
  }
  if (fields.q_scale != 1) {
    const double q = fields.q_scale;
    list.push_back({"softmax_scale", "q_scale is ignored", {.latent = 1 / q, .rope = 1 / q}, 0});
    list.push_back({"softmax_scale", "q_scale is applied twice", {.latent = q, .rope = q}, 0});
  }
  return list;
}

}  // namespace

void add_recomputed_patterns(const Evidence& evidence, std::vector<Pattern>& patterns) {
  for (const Candidate& candidate : candidates(evidence.problem())) {
    const double explained = evidence.explained(recompute(evidence, candidate.change));
    patterns.push_back({candidate.kind, candidate.message, explained, candidate.freedom});
  }
  const double factor = fitted_factor(evidence);
  if (std::abs(factor - 1) < 1e-4) return;
  const double explained = evidence.explained(recompute(evidence, {.latent = factor, .rope = factor}));
  patterns.push_back(
      {"softmax_scale", fmt::format("the logits are {:.4f} x what they should be", factor), explained, 1});
}

}  // namespace mla::harness::checks
