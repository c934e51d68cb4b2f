#include "harness/providers/eigen/widen.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace mla::harness::eigen {

namespace {

void widen_bf16(const std::uint16_t* __restrict source, int count, float* __restrict target) {
  for (int i = 0; i < count; ++i) target[i] = std::bit_cast<float>(std::uint32_t{source[i]} << 16);
}

// Puts sign, exponent and mantissa of e4m3 where float32 has its own, and corrects the exponent's bias by an exact
// multiplication, which also turns e4m3's subnormals (then float32's) into normal numbers.
void widen_e4m3(const std::int8_t* __restrict source, int count, float rebias, float* __restrict target) {
  constexpr std::uint32_t kSignExponentMantissa = 0x87f00000U;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t placed = (static_cast<std::uint32_t>(std::int32_t{source[i]}) << 20) & kSignExponentMantissa;
    target[i] = std::bit_cast<float>(placed) * rebias;
  }
}

// The two searches below reduce over bytes without a branch, so that the compiler turns them into vector code: the
// test then costs next to nothing beside the conversion, which knows nothing of NaN.
bool has_nan_e4m3fn(const std::uint8_t* source, int count) {
  std::uint8_t largest = 0;
  for (int i = 0; i < count; ++i) largest = std::max(largest, static_cast<std::uint8_t>(source[i] & 0x7fU));
  return largest == 0x7f;
}

bool has_nan_e4m3fnuz(const std::uint8_t* source, int count) {
  std::uint8_t smallest = 0xff;
  for (int i = 0; i < count; ++i) smallest = std::min(smallest, static_cast<std::uint8_t>(source[i] ^ 0x80U));
  return smallest == 0;
}

template <class Float8>
void widen_one_by_one(const std::uint8_t* source, int count, float* target) {
  for (int i = 0; i < count; ++i) target[i] = Float8{source[i]}.to_float();
}

void widen_e4m3fn(const std::uint8_t* source, int count, float* target) {
  constexpr float kRebias = 0x1p120F;  // 2^(127 - 7)
  if (has_nan_e4m3fn(source, count)) return widen_one_by_one<Float8E4M3FN>(source, count, target);
  widen_e4m3(reinterpret_cast<const std::int8_t*>(source), count, kRebias, target);
}

void widen_e4m3fnuz(const std::uint8_t* source, int count, float* target) {
  constexpr float kRebias = 0x1p119F;  // 2^(127 - 8)
  if (has_nan_e4m3fnuz(source, count)) return widen_one_by_one<Float8E4M3FNUZ>(source, count, target);
  widen_e4m3(reinterpret_cast<const std::int8_t*>(source), count, kRebias, target);
}

}  // namespace

void widen(const void* source, DataType dtype, int count, float* target) {
  switch (dtype) {
    case DataType::bf16: return widen_bf16(static_cast<const std::uint16_t*>(source), count, target);
    case DataType::e4m3fn: return widen_e4m3fn(static_cast<const std::uint8_t*>(source), count, target);
    case DataType::e4m3fnuz: return widen_e4m3fnuz(static_cast<const std::uint8_t*>(source), count, target);
    case DataType::f32: std::copy_n(static_cast<const float*>(source), count, target); return;
  }
}

}  // namespace mla::harness::eigen
