// The bit patterns that mark memory nobody may read, and outputs nobody has written.
#pragma once

#include <cstdint>

#include "mla/dtype.hpp"

namespace mla::harness {

/// What stands where a kernel must not read. NaN shows wherever it goes; but a kernel that masks by multiplying with
/// zero, or that takes maxima and minima, can swallow it, and then shows with the others.
enum class Unreadable : std::uint8_t {
  nan,    // a quiet NaN in every lane
  large,  // 1e30, or the largest value of an fp8 encoding
  tiny,   // the smallest subnormal: a token of it is one more token
};

/// Two bytes of the pattern, each lane of which is such a value. Both NaNs of e4m3fn appear, so that a kernel that
/// knows only one of them is found out.
[[nodiscard]] constexpr std::uint16_t unreadable_pattern(DataType type, Unreadable unreadable = Unreadable::nan) {
  const auto choose = [unreadable](int nan, int large, int tiny) {
    return static_cast<std::uint16_t>(unreadable == Unreadable::nan     ? nan
                                      : unreadable == Unreadable::large ? large
                                                                        : tiny);
  };
  switch (type) {
    case DataType::bf16:
    case DataType::f32: return choose(0x7fd3, 0x714a, 0x0001);
    case DataType::e4m3fn: return choose(0xff7f, 0x7e7e, 0x0101);
    case DataType::e4m3fnuz: return choose(0x8080, 0x7f7f, 0x0101);
  }
  return 0;
}

/// What outputs hold before a run. A kernel that adds to what it finds, or leaves an element, shows with each.
enum class Poison : std::uint8_t {
  nan,    // a signalling NaN with a payload of its own
  large,  // 1e30
  tiny,   // a subnormal, which a kernel may take for zero
};
inline constexpr int kPoisons = 3;

/// The pattern of Poison::nan. Arithmetic only ever yields quiet NaNs, so an element that still holds the pattern was
/// not written, and a NaN that was computed cannot be mistaken for it.
inline constexpr std::uint16_t kPoisonBfloat16 = 0x7fa5;
inline constexpr std::uint32_t kPoisonFloat32 = 0x7fa5a5a5;

[[nodiscard]] constexpr std::uint16_t poison_bfloat16(Poison poison) {
  return poison == Poison::nan ? kPoisonBfloat16 : poison == Poison::large ? 0x714a : 0x0001;
}
[[nodiscard]] constexpr std::uint32_t poison_float32(Poison poison) {
  return poison == Poison::nan ? kPoisonFloat32 : poison == Poison::large ? 0x7149f2caU : 0x00000001U;
}

/// Entries of `kv_indices` past the last one in use: far outside any pool, and no 32-bit overflow short of a multiply.
inline constexpr std::int32_t kUnreadableIndex = 2'147'480'000;

}  // namespace mla::harness
