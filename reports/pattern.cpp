#include "reports/pattern.hpp"

namespace mla::reports {

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // The first place of each part between stars leaves most room for the parts that follow.
  for (std::size_t next = 0; (next = pattern.find('*')) != std::string_view::npos; pattern.remove_prefix(next + 1)) {
    const std::string_view part = pattern.substr(0, next);
    const std::size_t at = text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
  }
  return text.ends_with(pattern);
}

}  // namespace mla::reports
