#include "harness/checks/probe_answer.hpp"

#include <algorithm>
#include <cmath>

#include "reference/error_model.hpp"

namespace mla::harness::checks {

namespace {

// Sums of weighted rows of V over tokens, in closed form for stretches of equal weight.
class Sums {
 public:
  // Tokens [begin, end), each with weight `weight`.
  void add(std::int64_t begin, std::int64_t end, double weight) {
    const std::int64_t count = end - begin;
    for (int bucket = 0; bucket < ProbePattern::kBuckets; ++bucket) {
      // Tokens of the bucket below x: ceil((x - bucket) / kBuckets).
      const auto below = [bucket](std::int64_t x) {
        return x <= bucket ? 0 : (x - bucket + ProbePattern::kBuckets - 1) / ProbePattern::kBuckets;
      };
      const auto in_bucket = static_cast<double>(below(end) - below(begin));
      value[static_cast<std::size_t>(bucket)] += weight * in_bucket;
      magnitude[static_cast<std::size_t>(bucket)] += weight * in_bucket;
      unweighted[static_cast<std::size_t>(bucket)] += in_bucket;
    }
    for (int bit = 0; bit <= ProbePattern::kCodeBits; ++bit) {
      // Pairs add up to nothing: of all tokens below x only an unpaired last one counts.
      const auto below = [bit](std::int64_t x) { return x % 2 == 0 ? 0 : ProbePattern::code(x - 1, bit); };
      const auto at = static_cast<std::size_t>(ProbePattern::kParityDim + bit);
      value[at] += weight * (below(end) - below(begin));
      magnitude[at] += weight * static_cast<double>(count);
      unweighted[at] += static_cast<double>(count);
    }
    constexpr auto one = static_cast<std::size_t>(ProbePattern::kOneDim);
    value[one] += weight * static_cast<double>(count);
    magnitude[one] += weight * static_cast<double>(count);
    unweighted[one] += static_cast<double>(count);
    total += weight * static_cast<double>(count);
  }

  std::array<double, kValueDim> value{};
  std::array<double, kValueDim> magnitude{};   // sum of weight * |v|
  std::array<double, kValueDim> unweighted{};  // sum of |v|
  double total = 0;                            // sum of weights
};

}  // namespace

ProbeAnswer probe_answer(const ProbePattern& pattern, const ProbeRow& row, std::int64_t visible, std::int64_t kv_len,
                         double kv_scale, const Precision& precision) {
  Sums sums;
  double logit_max = 0;      // the largest logit: weights are relative to it
  double magnitude_max = 0;  // the largest |logit|
  double logit_sum = 0;      // sum of weight * logit
  const bool sees_needle = row.kind == ProbeKind::needle && row.needle < visible;
  if (sees_needle) {
    logit_max = magnitude_max = pattern.needle_logit();
    sums.add(0, row.needle, std::exp(-logit_max));
    sums.add(row.needle, row.needle + 1, 1);
    sums.add(row.needle + 1, visible, std::exp(-logit_max));
    logit_sum = logit_max;
  } else if (row.kind == ProbeKind::uniform || row.kind == ProbeKind::needle) {
    sums.add(0, visible, 1);
  } else {
    const std::int64_t last = ProbePattern::level(visible - 1, kv_len);
    logit_max = std::max(0.0, pattern.logit(row.kind, last));
    // Levels that differ in hi alone weigh alike where the row looks at hi alone: one stretch, which saves time.
    std::int64_t begin = 0;
    for (std::int64_t level = 0; level <= last; ++level) {
      const double logit = pattern.logit(row.kind, level);
      if (level < last && pattern.logit(row.kind, level + 1) == logit) continue;
      // First token of the next level: the smallest k with floor(k levels / n) > level.
      const std::int64_t next = ((level + 1) * kv_len + ProbePattern::kLevels - 1) / ProbePattern::kLevels;
      const std::int64_t end = std::min(next, visible);
      const double weight = std::exp(logit - logit_max);
      if (end > begin) sums.add(begin, end, weight);
      logit_sum += static_cast<double>(std::max<std::int64_t>(0, end - begin)) * weight * logit;
      magnitude_max = std::max(magnitude_max, std::abs(logit));
      begin = std::max(begin, end);
    }
  }

  using reference::kFloat32Roundoff;
  constexpr double kFourSqrtDim = 96;
  const double score = kFourSqrtDim * kFloat32Roundoff * magnitude_max;
  // Sums of equal weights are sums of ones: exact in float32 up to 2^24 tokens.
  const bool equal_weights = row.kind == ProbeKind::uniform || row.kind == ProbeKind::needle;
  const double rounded_additions = equal_weights ? 0 : static_cast<double>(visible);
  ProbeAnswer answer;
  answer.lse = logit_max + std::log(sums.total);
  answer.mean_logit = logit_sum / sums.total;
  answer.lse_bound = reference::float32_lse_bound(answer.lse, score, rounded_additions) +
                     (precision.row_sum_of_rounded ? pattern.deviation(row.kind) : 0);
  const double shift = std::expm1(2 * answer.lse_bound + pattern.deviation(row.kind));
  const double floor = reference::probability_floor(precision) / sums.total;
  // Beside a needle the tokens' weights are small, but no powers of two where q cannot say a multiple of ln 2.
  const double beside_needle =
      sees_needle ? unit_roundoff(precision.probabilities) * std::exp(-logit_max) / sums.total : 0;
  const double u_out = unit_roundoff(DataType::bf16);
  const double ks = std::abs(kv_scale);
  for (std::size_t d = 0; d < answer.out.size(); ++d) {
    answer.out[d] = kv_scale * sums.value[d] / sums.total;
    const double magnitude = ks * sums.magnitude[d] / sums.total;
    const double before = (shift + unit_roundoff(precision.partial_output)) * magnitude +
                          (floor + beside_needle) * ks * sums.unweighted[d];
    answer.bound[d] = before + u_out * (std::abs(answer.out[d]) + before) + 0x1p-126;
  }
  return answer;
}

}  // namespace mla::harness::checks
