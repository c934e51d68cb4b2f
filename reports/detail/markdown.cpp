#include "reports/detail/markdown.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/detail/text.hpp"

namespace mla::reports::detail {

std::string escape_markdown(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '@': result += "&#64;"; break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\': result += '\\'; [[fallthrough]];
      default: result += c;
    }
  }
  return result;
}

std::string code_span(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string_view pad = longest > 0 ? " " : "";
  std::string body = one_line(text);
  // Table cells end at a bare '|' even inside a code span.
  for (std::size_t at = 0; (at = body.find('|', at)) != std::string::npos; at += 2) body.insert(at, 1, '\\');
  return fmt::format("{}{}{}{}{}", fence, pad, body, pad, fence);
}

std::string link_text(std::string_view words, std::string_view url) {
  std::string target;
  for (const char c : url) {
    // What would end the link, or the line.
    if (static_cast<unsigned char>(c) <= 0x20 || c == '(' || c == ')' || c == '<' || c == '>' || c == '\\') {
      target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      target += c;
    }
  }
  return fmt::format("[{}]({})", escape_markdown(words), target);
}

}  // namespace mla::reports::detail
