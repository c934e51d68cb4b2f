#include "harness/inputs/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "mla/shape.hpp"

namespace mla::harness {

namespace {

double logit_standard_deviation(Distribution distribution) {
  switch (distribution) {
    case Distribution::randn:
    case Distribution::needle: return 1;
    case Distribution::sharp: return 3;
  }
  return 1;
}

}  // namespace

double query_amplitude(const DecodeProblem& problem) {
  const double scale = std::abs(problem.fields().sm_scale);
  const double sd = logit_standard_deviation(problem.fields().distribution);
  // With a scale of zero every logit is zero whatever q holds.
  return scale > 0 ? sd / (scale * std::sqrt(static_cast<double>(kHeadDim))) : sd;
}

std::vector<std::int64_t> needle_positions(std::int64_t kv_len, int q_len) {
  std::vector<std::int64_t> positions;
  const auto add = [&](std::int64_t position) {
    if (position >= 0 && position < kv_len) positions.push_back(position);
  };
  add(0);
  // A multiple of 256 begins a page of every size; the finer ones serve contexts too short to have such an edge.
  for (const std::int64_t edge : {1, 16, 64, kMaxPageSize}) add(kv_len / 2 / edge * edge);
  add(kv_len / 4 / kMaxPageSize * kMaxPageSize);
  add(kv_len / 4 * 3 / kMaxPageSize * kMaxPageSize);
  constexpr int kLast = 4;
  for (std::int64_t back = 1; back <= std::max(kLast, q_len + 1); ++back) add(kv_len - back);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

double needle_amplitude(std::int64_t kv_len) {
  return kv_len < 1 ? 0 : std::log(static_cast<double>(kv_len)) / std::sqrt(static_cast<double>(kHeadDim));
}

}  // namespace mla::harness
