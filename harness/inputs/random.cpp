#include "harness/inputs/random.hpp"

#include <cmath>
#include <vector>

#include <Random123/philox.h>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/erf.hpp>

namespace mla::harness {

namespace {

constexpr int kBins = 65536;

// `upper_quantile(p)` for p in (1/2, 1), of a symmetric distribution.
template <class Quantile>
std::vector<float> make_quantiles(const Quantile& upper_quantile) {
  // The table is antisymmetric; computing one half keeps its mean exactly zero.
  std::vector<double> upper(kBins / 2);
  double square_sum = 0;
  for (int i = 0; i < kBins / 2; ++i) {
    const double value = upper_quantile(0.5 + (i + 0.5) / kBins);
    upper[static_cast<std::size_t>(i)] = value;
    square_sum += value * value;
  }
  const double scale = 1 / std::sqrt(square_sum / (kBins / 2.0));
  std::vector<float> table(kBins);
  for (std::size_t i = 0; i < upper.size(); ++i) {
    table[upper.size() + i] = static_cast<float>(upper[i] * scale);
    table[upper.size() - 1 - i] = -table[upper.size() + i];
  }
  return table;
}

}  // namespace

std::array<std::uint32_t, 4> Random::bits(Stream stream, std::uint32_t request, std::uint64_t position,
                                          std::uint16_t block) const {
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(stream) << 16 | block, request,
                                               static_cast<std::uint32_t>(position),
                                               static_cast<std::uint32_t>(position >> 32)}};
  const auto result = r123::Philox4x32{}(counter, key);
  return {result[0], result[1], result[2], result[3]};
}

void Random::row(Stream stream, std::uint32_t request, std::uint64_t position, Row& result) const {
  constexpr int kPerBlock = 8;
  static_assert(kHeadDim % kPerBlock == 0);
  for (int block = 0; block < kHeadDim / kPerBlock; ++block) {
    const auto words = bits(stream, request, position, static_cast<std::uint16_t>(block));
    std::uint16_t* const out = result.data() + block * kPerBlock;
    for (std::size_t i = 0; i < words.size(); ++i) {
      out[2 * i] = static_cast<std::uint16_t>(words[i]);
      out[2 * i + 1] = static_cast<std::uint16_t>(words[i] >> 16);
    }
  }
}

std::uint64_t Random::below(std::uint64_t limit, Stream stream, std::uint64_t index) const {
  // 64 bits against limits below 2^32: the bias of the remainder is under 2^-32.
  const auto words = bits(stream, 0, index, 0);
  return (static_cast<std::uint64_t>(words[1]) << 32 | words[0]) % limit;
}

std::span<const float> normal_quantiles() {
  static const std::vector<float> table =
      make_quantiles([](double p) { return std::sqrt(2.0) * boost::math::erf_inv(2 * p - 1); });
  return table;
}

std::span<const float> heavy_tailed_quantiles() {
  static const std::vector<float> table =
      make_quantiles([](double p) { return boost::math::quantile(boost::math::students_t(3), p); });
  return table;
}

}  // namespace mla::harness
