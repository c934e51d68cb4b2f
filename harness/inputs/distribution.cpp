#include "harness/inputs/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "harness/inputs/random.hpp"

namespace mla::harness {

namespace {

constexpr double kSqrtDim = 24;
static_assert(kSqrtDim * kSqrtDim == kHeadDim);

constexpr double kSaturatingWeight = 8;
constexpr int kOutliers = 8;
constexpr double kOutlierWeight = 2;
constexpr double kOtherWeight = 0.125;
constexpr double kSinkNoise = 1.0 / 16;
constexpr double kRampNats = 8;

double logit_standard_deviation(Distribution distribution) {
  if (distribution == Distribution::sharp) return 3;
  return distribution == Distribution::uniform ? 0.01 : 1;
}

// sqrt(sum w^2): what takes the place of sqrt(576) in the spread of a logit.
double weight_norm(Distribution distribution) {
  if (distribution == Distribution::saturating) return kSqrtDim * kSaturatingWeight;
  if (distribution == Distribution::outlier) {
    return std::sqrt(kOutliers * kOutlierWeight * kOutlierWeight +
                     (kHeadDim - kOutliers) * kOtherWeight * kOtherWeight);
  }
  return kSqrtDim;
}

}  // namespace

double query_amplitude(const DecodeProblem& problem) {
  const double scale = std::abs(problem.fields().sm_scale);
  const double sd = logit_standard_deviation(problem.fields().distribution);
  // With a scale of zero every logit is zero whatever q holds.
  return scale > 0 ? sd / (scale * weight_norm(problem.fields().distribution)) : sd;
}

bool has_direction(Distribution distribution) {
  return distribution == Distribution::needle || distribution == Distribution::sink ||
         distribution == Distribution::ramp;
}

std::optional<TokenShape> ordinary_token(Distribution distribution) {
  if (distribution == Distribution::ramp) return std::nullopt;
  return TokenShape{};
}

TokenShape token_shape(Distribution distribution, std::int64_t position, std::int64_t kv_len, int q_len) {
  if (distribution == Distribution::ramp) {
    const double place = kv_len > 1 ? static_cast<double>(position) / static_cast<double>(kv_len - 1) : 0;
    return {.along = kRampNats / kSqrtDim * place};
  }
  const auto special = special_positions(distribution, kv_len, q_len);
  if (!std::binary_search(special.begin(), special.end(), position)) return {};
  if (distribution == Distribution::needle) return {.along = needle_amplitude(kv_len)};
  constexpr double kAhead = 2;  // nats of the sink before all others together
  return {.noise = kSinkNoise, .along = needle_amplitude(kv_len) + kAhead / kSqrtDim};
}

std::vector<std::int64_t> special_positions(Distribution distribution, std::int64_t kv_len, int q_len) {
  if (distribution == Distribution::needle) return needle_positions(kv_len, q_len);
  if (distribution == Distribution::sink && kv_len > 0) return {0};
  return {};
}

std::array<double, kHeadDim> channel_weights(const DecodeProblem& problem) {
  std::array<double, kHeadDim> weights;
  weights.fill(problem.fields().distribution == Distribution::saturating ? kSaturatingWeight : 1);
  if (problem.fields().distribution != Distribution::outlier) return weights;
  weights.fill(kOtherWeight);
  const Random random(problem.fields().seed);
  // Of the latent part, where real models have them; one in each stretch of 64, so that none falls on another.
  for (int i = 0; i < kOutliers; ++i) {
    constexpr int kStretch = kLatentDim / kOutliers;
    const auto within = random.below(kStretch, Stream::channels, static_cast<std::uint64_t>(i));
    weights[static_cast<std::size_t>(i * kStretch) + within] = kOutlierWeight;
  }
  return weights;
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
  return kv_len < 1 ? 0 : std::log(static_cast<double>(kv_len)) / kSqrtDim;
}

}  // namespace mla::harness
