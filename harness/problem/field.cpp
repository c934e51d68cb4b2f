#include "harness/problem/field.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

// True where the whole of `text` is one number of the type.
template <class Number>
bool read_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::int64_t parse_integer(std::string_view field, std::string_view text, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = 0;
  if (!read_whole(text, value) || value < lowest || value > highest) {
    throw UsageError(field, text, fmt::format("an integer from {} to {} is needed", lowest, highest));
  }
  return value;
}

std::uint64_t parse_unsigned(std::string_view field, std::string_view text) {
  std::uint64_t value = 0;
  if (!read_whole(text, value)) throw UsageError(field, text, "an integer from 0 to 2^64-1 is needed");
  return value;
}

double parse_scale(std::string_view field, std::string_view text) {
  double value = 0;
  // "inf" and "nan" are numbers to from_chars; the range check refuses them.
  if (!read_whole(text, value)) throw UsageError(field, text, "a number is needed");
  if (!(value >= static_cast<double>(std::numeric_limits<float>::min()) && value <= 1e6)) {
    throw UsageError(field, text, "a positive number from 1.2e-38 to 1e6 is needed");
  }
  return value;
}

std::vector<std::int64_t> parse_list(std::string_view field, std::string_view text, std::int64_t lowest,
                                     std::int64_t highest, std::size_t most) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t plus = text.find('+');
    std::string_view item = text.substr(0, plus);
    std::int64_t repeats = 1;
    if (const std::size_t times = item.find('x'); times != std::string_view::npos) {
      repeats = parse_integer(field, item.substr(0, times), 1, static_cast<std::int64_t>(most));
      item = item.substr(times + 1);
    }
    const std::int64_t value = parse_integer(field, item, lowest, highest);
    if (values.size() + static_cast<std::size_t>(repeats) > most) {
      throw UsageError(field, text, fmt::format("at most {} values are allowed", most));
    }
    values.insert(values.end(), static_cast<std::size_t>(repeats), value);
    if (plus == std::string_view::npos) return values;
    text = text.substr(plus + 1);
  }
}

std::string print_list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && values[end] == values[i]) ++end;
    if (!text.empty()) text += '+';
    text += end - i > 1 ? fmt::format("{}x{}", end - i, values[i]) : fmt::format("{}", values[i]);
    i = end;
  }
  return text;
}

}  // namespace mla::harness
