#include "reports/detail/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace mla::reports::detail {

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, width));
  // The head of a word names its operation and heads, the tail its distribution and limits: keep more of the head.
  std::size_t tail = (width - 2) / 3;
  std::size_t head = width - 2 - tail;
  // Never cut inside a UTF-8 sequence: continuation bytes go with the character they belong to.
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  while (head > 0 && continues(head)) --head;
  while (tail > 0 && continues(text.size() - tail)) --tail;
  return fmt::format("{}..{}", text.substr(0, head), text.substr(text.size() - tail));
}

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e6 || size < 1e-3) return fmt::format("{:.2e}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string time_text(double ns) {
  struct Unit {
    double ns;
    std::string_view name;
  };
  static constexpr std::array units = {Unit{1, "ns"}, Unit{1e3, "us"}, Unit{1e6, "ms"}, Unit{1e9, "s"}};
  std::size_t i = 0;
  // 999.6 us is shown as 1.00 ms, not as 1000 us.
  while (i + 1 < units.size() && std::abs(ns) >= 0.9995 * units[i + 1].ns) ++i;
  return fmt::format("{} {}", number_text(ns / units[i].ns), units[i].name);
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace mla::reports::detail
