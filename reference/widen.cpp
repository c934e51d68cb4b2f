#include "reference/widen.hpp"

#include <array>

namespace mla::reference {
namespace {

template <class Float8>
constexpr std::array<double, 256> table_of() {
  std::array<double, 256> table{};
  for (int byte = 0; byte < 256; ++byte) {
    table[static_cast<std::size_t>(byte)] = static_cast<double>(Float8{static_cast<std::uint8_t>(byte)}.to_float());
  }
  return table;
}

template <class Float8>
void widen_float8(const void* data, std::int64_t offset, std::span<double> target) {
  static constexpr std::array<double, 256> table = table_of<Float8>();
  const auto* bytes = static_cast<const std::uint8_t*>(data) + offset;
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = table[bytes[i]];
}

}  // namespace

void widen(const void* data, DataType type, std::int64_t offset, std::span<double> target) {
  switch (type) {
    case DataType::bf16: {
      const auto* elements = static_cast<const Bfloat16*>(data) + offset;
      for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<double>(elements[i].to_float());
      return;
    }
    case DataType::f32: {
      const auto* elements = static_cast<const float*>(data) + offset;
      for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<double>(elements[i]);
      return;
    }
    case DataType::e4m3fn: return widen_float8<Float8E4M3FN>(data, offset, target);
    case DataType::e4m3fnuz: return widen_float8<Float8E4M3FNUZ>(data, offset, target);
  }
}

}  // namespace mla::reference
