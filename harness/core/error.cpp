#include "harness/core/error.hpp"

#include <cctype>

namespace mla::harness {

std::string UsageError::abbreviated(std::string_view value) {
  constexpr std::size_t kLongest = 60;
  std::string line;
  for (const char c : value.substr(0, kLongest)) {
    line += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  if (value.size() > kLongest) line += fmt::format("... ({} characters)", value.size());
  return line;
}

}  // namespace mla::harness
