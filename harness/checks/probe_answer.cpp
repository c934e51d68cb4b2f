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
    const double mass = weight * static_cast<double>(count);
    add_to_buckets(begin, count, weight);
    for (int bit = 0; bit <= ProbePattern::kCodeBits; ++bit) {
      // Pairs add up to nothing: of all tokens below x only an unpaired last one counts.
      const auto below = [bit](std::int64_t x) { return x % 2 == 0 ? 0 : ProbePattern::code(x - 1, bit); };
      code_[static_cast<std::size_t>(bit)] += weight * (below(end) - below(begin));
    }
    total_ += mass;
    tokens_ += static_cast<double>(count);
  }

  // Sum of the weights.
  [[nodiscard]] double total() const { return total_; }

  // Of one dimension: the sums of weight * v, weight * |v| and |v|.
  struct Dimension {
    double value;
    double magnitude;
    double unweighted;
  };
  [[nodiscard]] Dimension dimension(int dim) const {
    if (dim < ProbePattern::kBuckets) {
      const auto bucket = static_cast<std::size_t>(dim);
      const double mass = every_bucket_ + bucket_[bucket];
      return {mass, mass, every_bucket_tokens_ + bucket_tokens_[bucket]};
    }
    if (dim == ProbePattern::kOneDim) return {total_, total_, tokens_};
    const int bit = dim - ProbePattern::kParityDim;
    if (bit <= ProbePattern::kCodeBits) return {code_[static_cast<std::size_t>(bit)], total_, tokens_};
    return {0, 0, 0};
  }

 private:
  // Whole rounds of the buckets go to all of them alike, the rest to some of them: from `begin`'s on, around the end.
  void add_to_buckets(std::int64_t begin, std::int64_t count, double weight) {
    const auto rounds = static_cast<double>(count / ProbePattern::kBuckets);
    every_bucket_ += weight * rounds;
    every_bucket_tokens_ += rounds;
    const auto first = static_cast<std::size_t>(begin % ProbePattern::kBuckets);
    const std::size_t last = first + static_cast<std::size_t>(count % ProbePattern::kBuckets);
    constexpr std::size_t buckets = ProbePattern::kBuckets;
    add_to_some(first, std::min(last, buckets), weight);
    if (last > buckets) add_to_some(0, last - buckets, weight);
  }

  void add_to_some(std::size_t begin, std::size_t end, double weight) {
    for (std::size_t bucket = begin; bucket < end; ++bucket) {
      bucket_[bucket] += weight;
      bucket_tokens_[bucket] += 1;
    }
  }

  double every_bucket_ = 0;                                     // weight that each bucket has
  double every_bucket_tokens_ = 0;                              // tokens that each bucket has
  std::array<double, ProbePattern::kBuckets> bucket_{};         // weight beyond that
  std::array<double, ProbePattern::kBuckets> bucket_tokens_{};  // tokens beyond that
  std::array<double, ProbePattern::kCodeBits + 1> code_{};
  double total_ = 0;
  double tokens_ = 0;
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
  answer.lse = logit_max + std::log(sums.total());
  answer.mean_logit = logit_sum / sums.total();
  answer.lse_bound = reference::float32_lse_bound(answer.lse, score, rounded_additions) +
                     (precision.row_sum_of_rounded ? pattern.deviation(row.kind) : 0);
  const double shift = std::expm1(2 * answer.lse_bound + pattern.deviation(row.kind));
  const double floor = reference::probability_floor(precision) / sums.total();
  // Beside a needle the tokens' weights are small, but no powers of two where q cannot say a multiple of ln 2.
  const double beside_needle =
      sees_needle ? unit_roundoff(precision.probabilities) * std::exp(-logit_max) / sums.total() : 0;
  const double u_out = unit_roundoff(DataType::bf16);
  const double ks = std::abs(kv_scale);
  for (int dim = 0; dim < kValueDim; ++dim) {
    const auto d = static_cast<std::size_t>(dim);
    const Sums::Dimension sum = sums.dimension(dim);
    answer.out[d] = kv_scale * sum.value / sums.total();
    const double magnitude = ks * sum.magnitude / sums.total();
    const double before =
        (shift + unit_roundoff(precision.partial_output)) * magnitude + (floor + beside_needle) * ks * sum.unweighted;
    answer.bound[d] = before + u_out * (std::abs(answer.out[d]) + before) + 0x1p-126;
  }
  return answer;
}

}  // namespace mla::harness::checks
