// The bit patterns that mark memory nobody may read, and outputs nobody has written.
#pragma once

#include <cstdint>

#include "mla/dtype.hpp"

namespace mla::harness {

/// Fills what a kernel must not read: two bytes, a quiet NaN of the element type in every lane. Both NaNs of e4m3fn
/// appear, so that a kernel that knows only one of them is found out.
[[nodiscard]] constexpr std::uint16_t unreadable_pattern(DataType type) {
  switch (type) {
    case DataType::bf16:
    case DataType::f32: return 0x7fd3;
    case DataType::e4m3fn: return 0xff7f;
    case DataType::e4m3fnuz: return 0x8080;
  }
  return 0;
}

/// Fills outputs before a run. These are signalling NaNs: arithmetic only ever yields quiet ones, so an element that
/// still holds the pattern was not written, and a NaN that was computed cannot be mistaken for it.
inline constexpr std::uint16_t kPoisonBfloat16 = 0x7fa5;
inline constexpr std::uint32_t kPoisonFloat32 = 0x7fa5a5a5;

/// Entries of `kv_indices` past the last one in use: far outside any pool, and no 32-bit overflow short of a multiply.
inline constexpr std::int32_t kUnreadableIndex = 2'147'480'000;

}  // namespace mla::harness
