// What is done with each case.
#pragma once

#include <cstdint>
#include <string_view>

namespace mla::harness {

enum class RunMode : std::uint8_t {
  check,              // C: all checks, no measurement
  measure,            // P: the result is checked once, since a wrong kernel has no speed; then measured
  check_and_measure,  // CP: all checks, then measured
};

[[nodiscard]] constexpr std::string_view name_of(RunMode mode) {
  switch (mode) {
    case RunMode::check: return "C";
    case RunMode::measure: return "P";
    case RunMode::check_and_measure: return "CP";
  }
  return "?";
}

[[nodiscard]] constexpr bool measures(RunMode mode) {
  return mode != RunMode::check;
}
[[nodiscard]] constexpr bool checks_fully(RunMode mode) {
  return mode != RunMode::measure;
}

}  // namespace mla::harness
