#include "harness/checks/uniform_reading.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "harness/inputs/probe_pattern.hpp"

namespace mla::harness::checks {

namespace {

constexpr int kBuckets = ProbePattern::kBuckets;

// Tokens of each bucket too many (positive) or too few.
std::array<std::int64_t, kBuckets> bucket_surplus(std::span<const double, kValueDim> values, double weighed,
                                                  std::int64_t visible) {
  std::array<std::int64_t, kBuckets> surplus{};
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const std::int64_t want = visible <= bucket ? 0 : (visible - bucket + kBuckets - 1) / kBuckets;
    const double count = values[static_cast<std::size_t>(bucket)] * weighed;
    // Rounding to bf16 leaves 2^-8 of the count: a small difference of a large count is none.
    if (std::abs(count - static_cast<double>(want)) < 0.5 + static_cast<double>(want) * 0x1p-8) continue;
    surplus[static_cast<std::size_t>(bucket)] = std::llround(count) - want;
  }
  return surplus;
}

// The token whose code is what the signs have too much, `sign` times; none where they spell no token.
std::optional<std::int64_t> spelt_token(std::span<const double, kValueDim> values, double weighed, std::int64_t visible,
                                        int sign) {
  std::int64_t token = 0;
  int parity = 0;
  for (int bit = 0; bit <= ProbePattern::kCodeBits; ++bit) {
    const double sum = values[static_cast<std::size_t>(ProbePattern::kParityDim + bit)] * weighed;
    const int want = visible % 2 == 0 ? 0 : ProbePattern::code(visible - 1, bit);
    const double surplus = sign * (sum - want);
    if (std::abs(std::abs(surplus) - 1) > 0.3) return std::nullopt;
    const int code = surplus > 0 ? 1 : -1;
    if (bit == 0) parity = code;
    const bool is_set = bit == 0 ? code < 0 : code != parity;
    if (is_set) token |= std::int64_t{1} << bit;
  }
  return token;
}

std::string describe_many(const std::array<std::int64_t, kBuckets>& surplus, std::int64_t missing) {
  int first = -1;
  int last = -1;
  std::int64_t short_buckets = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const std::int64_t count = surplus[static_cast<std::size_t>(bucket)];
    if (missing > 0 ? count >= 0 : count <= 0) continue;
    if (first < 0) first = bucket;
    last = bucket;
    ++short_buckets;
  }
  const std::string what = fmt::format("{} token{} {}", std::abs(missing), std::abs(missing) == 1 ? " is" : "s are",
                                       missing > 0 ? "missing" : "too many");
  if (first < 0 || short_buckets != last - first + 1) return what;
  return fmt::format("{}, {} with k mod {} in {}..{}", what, std::abs(missing) == 1 ? "one" : "those", kBuckets, first,
                     last);
}

}  // namespace

std::string read_uniform_row(std::span<const double, kValueDim> values, double lse, std::int64_t visible) {
  // An LSE that is no number of tokens (NaN, or in another base) tells nothing.
  const double weighed = std::exp(lse);
  if (!(weighed > 0.5) || !(weighed < 4e6) || std::abs(weighed - std::round(weighed)) > 0.25) return {};
  const std::int64_t missing = visible - std::llround(weighed);
  if (missing == 1 || missing == -1) {
    const auto token = spelt_token(values, std::round(weighed), visible, missing == 1 ? -1 : 1);
    if (token && missing == 1 && *token < visible) return fmt::format("token {} is missing", *token);
    if (token && missing == -1) {
      return *token < visible ? fmt::format("token {} is weighed twice", *token)
                              : fmt::format("token {} is weighed and must not be seen", *token);
    }
  }
  const auto surplus = bucket_surplus(values, std::round(weighed), visible);
  if (missing != 0) return describe_many(surplus, missing);
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const std::int64_t count = surplus[static_cast<std::size_t>(bucket)];
    if (count < 0) {
      return fmt::format("tokens stand in for others: {} with k mod {} = {} are missing", -count, kBuckets, bucket);
    }
  }
  return {};
}

}  // namespace mla::harness::checks
