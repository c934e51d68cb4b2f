// Random numbers that are a pure function of (seed, stream, logical position): Philox4x32-10 by Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), as implemented by Random123.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mla/shape.hpp"

namespace mla::harness {

/// What a number is for. Streams of one seed are independent.
enum class Stream : std::uint8_t { query, key_value, direction, pages, channels };

/// Counter-based generator: no state, so that neither thread count nor order of filling can change an element.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}

  /// 128 random bits for one counter value.
  [[nodiscard]] std::array<std::uint32_t, 4> bits(Stream stream, std::uint32_t request, std::uint64_t position,
                                                  std::uint16_t block) const;

  /// 16 random bits for every dimension of one row.
  using Row = std::array<std::uint16_t, kHeadDim>;
  void row(Stream stream, std::uint32_t request, std::uint64_t position, Row& result) const;

  /// A number in [0, limit) for counter `index`; limit > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit, Stream stream, std::uint64_t index) const;

 private:
  std::uint64_t seed_;
};

/// The standard normal value for each 16-bit number: quantiles at the middles of 65536 equally probable bins, scaled so
/// that the variance over the table is exactly 1. Largest magnitude 4.3.
[[nodiscard]] std::span<const float> normal_quantiles();

/// The same for Student's t with 3 degrees of freedom, of variance 1 over the table. Largest magnitude 26.
[[nodiscard]] std::span<const float> heavy_tailed_quantiles();

}  // namespace mla::harness
