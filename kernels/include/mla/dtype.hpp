// Element types of the kernel contract and their exact conversions. Everything is constexpr, so that the host, the
// kernels and the tests share one definition.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace mla {

/// `e4m3fn` is the OCP encoding (gfx950, sm90): bias 7, largest finite 448, NaN at 0x7f and 0xff, no infinity.
/// `e4m3fnuz` is the gfx942 encoding: bias 8, largest finite 240, NaN only at 0x80, no negative zero, no infinity.
/// The same byte means different values in the two, so mixing them is an error everywhere.
enum class DataType : std::uint8_t { bf16, e4m3fn, e4m3fnuz, f32 };

[[nodiscard]] constexpr int size_in_bytes(DataType type) {
  switch (type) {
    case DataType::f32: return 4;
    case DataType::bf16: return 2;
    case DataType::e4m3fn:
    case DataType::e4m3fnuz: return 1;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_fp8(DataType type) {
  return type == DataType::e4m3fn || type == DataType::e4m3fnuz;
}

[[nodiscard]] constexpr std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::f32: return "f32";
    case DataType::bf16: return "bf16";
    case DataType::e4m3fn: return "e4m3fn";
    case DataType::e4m3fnuz: return "e4m3fnuz";
  }
  return "?";
}

/// Unit roundoff: half the distance from 1 to the next value.
[[nodiscard]] constexpr double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::f32: return 0x1p-24;
    case DataType::bf16: return 0x1p-8;
    case DataType::e4m3fn:
    case DataType::e4m3fnuz: return 0x1p-4;
  }
  return 0;
}

/// The 16 high bits of an IEEE binary32 value.
struct Bfloat16 {
  std::uint16_t bits = 0;

  [[nodiscard]] static constexpr Bfloat16 from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffU) > 0x7f800000U) {
      // Rounding a NaN could carry its payload into infinity: keep the top bits and set the quiet bit.
      return {static_cast<std::uint16_t>((word >> 16) | 0x40U)};
    }
    const std::uint32_t round_to_even = 0x7fffU + ((word >> 16) & 1U);
    return {static_cast<std::uint16_t>((word + round_to_even) >> 16)};
  }
  [[nodiscard]] constexpr float to_float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

namespace detail {

// Decodes a 4-bit exponent, 3-bit mantissa byte whose NaN was already excluded.
[[nodiscard]] constexpr float decode_e4m3(std::uint8_t byte, int bias) {
  const int exponent = (byte >> 3) & 0xf;
  const int mantissa = byte & 0x7;
  const int significand = exponent == 0 ? mantissa : mantissa | 0x8;
  const int power = (exponent == 0 ? 1 : exponent) - bias - 3;
  float magnitude = static_cast<float>(significand);
  for (int i = 0; i < power; ++i) magnitude *= 2.0F;
  for (int i = 0; i > power; --i) magnitude *= 0.5F;
  return (byte & 0x80U) != 0 ? -magnitude : magnitude;
}

// Encodes a non-NaN value to the nearest e4m3 byte without its sign, ties to even, saturating at `max_byte`.
[[nodiscard]] constexpr std::uint8_t encode_e4m3_magnitude(float magnitude, int bias, std::uint8_t max_byte) {
  if (magnitude >= decode_e4m3(max_byte, bias)) return max_byte;
  const auto word = std::bit_cast<std::uint32_t>(magnitude);
  const int exponent = static_cast<int>(word >> 23) - 127;
  const int smallest_normal = 1 - bias;
  // The spacing of e4m3 values at this magnitude is 2^(quantum).
  const int quantum = (exponent < smallest_normal ? smallest_normal : exponent) - 3;
  float scaled = magnitude;
  for (int i = 0; i < quantum; ++i) scaled *= 0.5F;
  for (int i = 0; i > quantum; --i) scaled *= 2.0F;
  int steps = static_cast<int>(scaled);
  const float rest = scaled - static_cast<float>(steps);
  if (rest > 0.5F || (rest == 0.5F && (steps & 1) != 0)) ++steps;
  // Counting steps from zero makes a carry into the next exponent come out right by itself.
  const int base = exponent < smallest_normal ? 0 : (exponent + bias - 1) << 3;
  return static_cast<std::uint8_t>(base + steps);
}

}  // namespace detail

/// OCP e4m3: conversions from float round to nearest even and saturate to +-448.
struct Float8E4M3FN {
  std::uint8_t bits = 0;

  [[nodiscard]] static constexpr Float8E4M3FN from_float(float value) {
    if (value != value) return {0x7f};
    const bool negative = (std::bit_cast<std::uint32_t>(value) >> 31) != 0;
    const std::uint8_t magnitude = detail::encode_e4m3_magnitude(negative ? -value : value, 7, 0x7e);
    return {static_cast<std::uint8_t>(magnitude | (negative ? 0x80U : 0U))};
  }
  [[nodiscard]] constexpr bool is_nan() const { return (bits & 0x7fU) == 0x7fU; }
  [[nodiscard]] constexpr float to_float() const {
    return is_nan() ? std::bit_cast<float>(0x7fc00000U) : detail::decode_e4m3(bits, 7);
  }
};

/// FNUZ e4m3 (gfx942): conversions from float round to nearest even and saturate to +-240; -0 becomes +0.
struct Float8E4M3FNUZ {
  std::uint8_t bits = 0;

  [[nodiscard]] static constexpr Float8E4M3FNUZ from_float(float value) {
    if (value != value) return {0x80};
    const bool negative = (std::bit_cast<std::uint32_t>(value) >> 31) != 0;
    const std::uint8_t magnitude = detail::encode_e4m3_magnitude(negative ? -value : value, 8, 0x7f);
    return {static_cast<std::uint8_t>(magnitude | (negative && magnitude != 0 ? 0x80U : 0U))};
  }
  [[nodiscard]] constexpr bool is_nan() const { return bits == 0x80U; }
  [[nodiscard]] constexpr float to_float() const {
    return is_nan() ? std::bit_cast<float>(0x7fc00000U) : detail::decode_e4m3(bits, 8);
  }
};

}  // namespace mla
