// The element types against their definitions, value by value.
#include "mla/dtype.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mla {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A value of the type under test and the bits that stand for it.
struct Code {
  double value;
  unsigned bits;
};

/// The code nearest to `value` among codes sorted by value; a tie goes to even bits. Values beyond the ends go to them.
unsigned nearest(const std::vector<Code>& codes, double value) {
  const auto above =
      std::lower_bound(codes.begin(), codes.end(), value, [](const Code& c, double v) { return c.value < v; });
  if (above == codes.end()) return codes.back().bits;
  if (above == codes.begin()) return codes.front().bits;
  const auto below = std::prev(above);
  const double up = above->value - value, down = value - below->value;
  if (up != down) return up < down ? above->bits : below->bits;
  return above->bits % 2 == 0 ? above->bits : below->bits;
}

// ---------------------------------------------------------------------------------------------------------- bfloat16

/// All non-negative bf16 values; infinity stands where the next binade would begin, as IEEE 754 rounds to it.
const std::vector<Code>& bfloat16_codes() {
  static const std::vector<Code> codes = [] {
    std::vector<Code> all;
    for (unsigned bits = 0; bits < 0x8000; ++bits) {
      const int exponent = static_cast<int>(bits >> 7), mantissa = static_cast<int>(bits & 0x7f);
      if (exponent == 255 && mantissa != 0) break;
      const double value = exponent == 0 ? std::ldexp(mantissa, -126 - 7) : std::ldexp(128 + mantissa, exponent - 134);
      all.push_back({value, bits});
    }
    return all;
  }();
  return codes;
}

void expect_bfloat16_rounding(float magnitude) {
  const unsigned expected = nearest(bfloat16_codes(), static_cast<double>(magnitude));
  ASSERT_EQ(Bfloat16::from_float(magnitude).bits, expected) << magnitude;
  ASSERT_EQ(Bfloat16::from_float(-magnitude).bits, expected | 0x8000U) << -magnitude;
}

TEST(Bfloat16, DecodesEveryPattern) {
  for (const Code& code : bfloat16_codes()) {
    const double value = code.bits == 0x7f80 ? std::numeric_limits<double>::infinity() : code.value;
    const Bfloat16 positive{static_cast<std::uint16_t>(code.bits)};
    const Bfloat16 negative{static_cast<std::uint16_t>(code.bits | 0x8000U)};
    ASSERT_EQ(static_cast<double>(positive.to_float()), value) << code.bits;
    ASSERT_EQ(static_cast<double>(negative.to_float()), -value) << code.bits;
    ASSERT_TRUE(std::signbit(negative.to_float()));
  }
}

TEST(Bfloat16, EveryPatternRoundTrips) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const Bfloat16 value{static_cast<std::uint16_t>(bits)};
    const bool is_nan = (bits & 0x7fffU) > 0x7f80U;
    ASSERT_EQ(std::isnan(value.to_float()), is_nan) << bits;
    // A signalling NaN becomes quiet; every other pattern is kept.
    ASSERT_EQ(Bfloat16::from_float(value.to_float()).bits, is_nan ? bits | 0x40U : bits);
  }
}

TEST(Bfloat16, EveryMidpointRoundsToEven) {
  const std::vector<Code>& codes = bfloat16_codes();
  for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
    const auto midpoint = static_cast<float>((codes[i].value + codes[i + 1].value) / 2);
    expect_bfloat16_rounding(midpoint);
    expect_bfloat16_rounding(std::nextafter(midpoint, 0.0F));
    expect_bfloat16_rounding(std::nextafter(midpoint, kInfinity));
    if (HasFatalFailure()) return;
  }
}

TEST(Bfloat16, SampledFloatsRoundToNearest) {
  for (std::uint32_t word = 0; word < 0x7f800000U; word += 4099) {  // a prime: low bits of all kinds
    expect_bfloat16_rounding(std::bit_cast<float>(word));
    if (HasFatalFailure()) return;
  }
}

TEST(Bfloat16, EveryKindOfNaNStaysNaN) {
  for (const std::uint32_t word : {0x7f800001U, 0x7f80ffffU, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU}) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const Bfloat16 value = Bfloat16::from_float(std::bit_cast<float>(word | sign));
      EXPECT_TRUE(std::isnan(value.to_float())) << word;
      EXPECT_EQ(value.bits >> 15, sign >> 31);
    }
  }
}

TEST(Bfloat16, OverflowAndInfinity) {
  EXPECT_EQ(Bfloat16::from_float(kInfinity).bits, 0x7f80);
  EXPECT_EQ(Bfloat16::from_float(-kInfinity).bits, 0xff80);
  EXPECT_EQ(Bfloat16::from_float(std::numeric_limits<float>::max()).bits, 0x7f80);
}

// --------------------------------------------------------------------------------------------------------------- fp8

struct FN {
  using Type = Float8E4M3FN;
  static constexpr DataType kType = DataType::e4m3fn;
  static constexpr int kBias = 7;
  static constexpr double kMax = 448;
  static constexpr bool kNegativeZero = true;
  static bool is_nan(unsigned byte) { return byte == 0x7f || byte == 0xff; }
};

struct FNUZ {
  using Type = Float8E4M3FNUZ;
  static constexpr DataType kType = DataType::e4m3fnuz;
  static constexpr int kBias = 8;
  static constexpr double kMax = 240;
  static constexpr bool kNegativeZero = false;
  static bool is_nan(unsigned byte) { return byte == 0x80; }
};

template <class Encoding>
class Float8 : public testing::Test {
 protected:
  using Type = typename Encoding::Type;

  /// The definition: (-1)^S * 2^(E - bias) * 1.M, or (-1)^S * 2^(1 - bias) * 0.M where E is 0.
  static double value_of(unsigned byte) {
    const double sign = (byte & 0x80U) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(byte >> 3 & 0xfU);
    const double fraction = static_cast<double>(byte & 7U) / 8;
    if (exponent == 0) return sign * std::pow(2.0, 1 - Encoding::kBias) * fraction;
    return sign * std::pow(2.0, exponent - Encoding::kBias) * (1 + fraction);
  }

  /// All non-negative values.
  static std::vector<Code> codes() {
    std::vector<Code> all;
    for (unsigned byte = 0; byte < 0x80; ++byte) {
      if (!Encoding::is_nan(byte)) all.push_back({value_of(byte), byte});
    }
    return all;
  }

  static unsigned encode(float value) { return Type::from_float(value).bits; }

  static void expect_rounding(float magnitude) {
    const unsigned expected = nearest(codes(), static_cast<double>(magnitude));
    EXPECT_EQ(encode(magnitude), expected) << magnitude;
    EXPECT_EQ(encode(-magnitude), expected == 0 && !Encoding::kNegativeZero ? 0 : expected | 0x80U) << -magnitude;
  }
};

class EncodingName {
 public:
  template <class Encoding>
  static std::string GetName(int) {
    return std::string(name_of(Encoding::kType));
  }
};
using Encodings = testing::Types<FN, FNUZ>;
TYPED_TEST_SUITE(Float8, Encodings, EncodingName);

TYPED_TEST(Float8, DecodesEveryByte) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const typename TypeParam::Type code{static_cast<std::uint8_t>(byte)};
    EXPECT_EQ(code.is_nan(), TypeParam::is_nan(byte)) << byte;
    if (TypeParam::is_nan(byte)) {
      EXPECT_TRUE(std::isnan(code.to_float())) << byte;
    } else {
      EXPECT_EQ(static_cast<double>(code.to_float()), this->value_of(byte)) << byte;
      EXPECT_EQ(std::signbit(code.to_float()), byte >= 0x80) << byte;
    }
  }
}

TYPED_TEST(Float8, EveryValueRoundTrips) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (TypeParam::is_nan(byte)) continue;
    EXPECT_EQ(this->encode(static_cast<float>(this->value_of(byte))), byte);
  }
}

TYPED_TEST(Float8, EveryMidpointAndItsNeighboursRoundToNearestEven) {
  const std::vector<Code> codes = this->codes();
  for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
    const auto midpoint = static_cast<float>((codes[i].value + codes[i + 1].value) / 2);
    this->expect_rounding(midpoint);
    this->expect_rounding(std::nextafter(midpoint, 0.0F));
    this->expect_rounding(std::nextafter(midpoint, kInfinity));
  }
}

TYPED_TEST(Float8, NeighboursOfEveryValueRoundToIt) {
  for (const Code& code : this->codes()) {
    const auto value = static_cast<float>(code.value);
    this->expect_rounding(std::nextafter(value, kInfinity));
    if (code.bits != 0) this->expect_rounding(std::nextafter(value, 0.0F));
  }
}

TYPED_TEST(Float8, SampledFloatsRoundToNearest) {
  for (std::uint32_t word = 0; word < 0x7f800000U; word += 65521) this->expect_rounding(std::bit_cast<float>(word));
}

TYPED_TEST(Float8, SaturatesAtTheLargestFiniteValue) {
  const double max = TypeParam::kMax;
  EXPECT_EQ(this->codes().back().value, max);
  const auto largest = static_cast<float>(max);
  for (const float value : {largest, std::nextafter(largest, kInfinity), largest * 1.03125F, largest * 1.0625F,
                            largest * 2, 1e30F, std::numeric_limits<float>::max(), kInfinity}) {
    EXPECT_EQ(static_cast<double>(TypeParam::Type::from_float(value).to_float()), max) << value;
    EXPECT_EQ(static_cast<double>(TypeParam::Type::from_float(-value).to_float()), -max) << value;
  }
}

TYPED_TEST(Float8, NaNStaysNaN) {
  for (const float nan : {kNaN, -kNaN, std::bit_cast<float>(0x7f800001U)}) {
    EXPECT_TRUE(TypeParam::Type::from_float(nan).is_nan());
  }
}

TYPED_TEST(Float8, ZeroAndWhatVanishes) {
  const float half_of_smallest = static_cast<float>(this->codes()[1].value) / 2;
  const unsigned negative_zero = TypeParam::kNegativeZero ? 0x80 : 0;
  for (const float value :
       {0.0F, half_of_smallest, std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(this->encode(value), 0U) << value;
    EXPECT_EQ(this->encode(-value), negative_zero) << -value;
  }
  EXPECT_EQ(this->encode(std::nextafter(half_of_smallest, 1.0F)), 1U);
}

// The confusion of the two encodings: no byte but zero survives it.
TEST(Float8Encodings, SameByteDiffersByAFactorOfTwo) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto bits = static_cast<std::uint8_t>(byte);
    const Float8E4M3FN fn{bits};
    const Float8E4M3FNUZ fnuz{bits};
    if (byte == 0x80) {
      EXPECT_TRUE(fnuz.is_nan());
      EXPECT_EQ(fn.to_float(), 0.0F);
    } else if (fn.is_nan()) {
      EXPECT_EQ(std::abs(fnuz.to_float()), 240.0F);
    } else {
      EXPECT_EQ(fn.to_float(), 2 * fnuz.to_float()) << byte;
    }
  }
}

TEST(DataType, UnitRoundoffIsHalfTheStepAboveOne) {
  const auto next_bf16 = static_cast<double>(Bfloat16{0x3f81}.to_float());
  EXPECT_EQ(unit_roundoff(DataType::bf16), (next_bf16 - 1) / 2);
  const auto next_fn = static_cast<double>(Float8E4M3FN{0x39}.to_float());
  EXPECT_EQ(unit_roundoff(DataType::e4m3fn), (next_fn - 1) / 2);
  const auto next_fnuz = static_cast<double>(Float8E4M3FNUZ{0x41}.to_float());
  EXPECT_EQ(unit_roundoff(DataType::e4m3fnuz), (next_fnuz - 1) / 2);
  EXPECT_EQ(unit_roundoff(DataType::f32), static_cast<double>(std::numeric_limits<float>::epsilon()) / 2);
}

TEST(DataType, SizesAreThoseOfTheElementTypes) {
  EXPECT_EQ(size_in_bytes(DataType::bf16), static_cast<int>(sizeof(Bfloat16)));
  EXPECT_EQ(size_in_bytes(DataType::e4m3fn), static_cast<int>(sizeof(Float8E4M3FN)));
  EXPECT_EQ(size_in_bytes(DataType::e4m3fnuz), static_cast<int>(sizeof(Float8E4M3FNUZ)));
  EXPECT_EQ(size_in_bytes(DataType::f32), static_cast<int>(sizeof(float)));
}

// The conversions are usable at compile time, as kernels and tables need.
static_assert(Bfloat16::from_float(1.0F).bits == 0x3f80);
static_assert(Float8E4M3FN::from_float(1.0F).bits == 0x38);
static_assert(Float8E4M3FNUZ::from_float(1.0F).bits == 0x40);

}  // namespace
}  // namespace mla
