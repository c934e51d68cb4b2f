#include "ci/isa/disassembly.hpp"

#include <fmt/format.h>

#include <charconv>

#include "ci/isa/text.hpp"

namespace mla::isa {
namespace {

std::uint64_t hexadecimal(std::string_view text, std::string_view line) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(fmt::format("disassembly: no address in '{}'", line));
  }
  return value;
}

// "0000000000001a00 <symbol>:" opens a symbol; its instructions are indented.
bool opens_symbol(std::string_view line) {
  return !line.empty() && line.front() != '\t' && line.front() != ' ' && line.ends_with(">:");
}

// A branch's comment ends in "<symbol+0x80>", or "<symbol>" for its first instruction.
std::optional<std::uint64_t> branch_target(std::string_view comment, std::string_view symbol, std::uint64_t start) {
  const auto open = comment.find('<');
  if (open == std::string_view::npos || !comment.ends_with('>')) return std::nullopt;
  std::string_view place = comment.substr(open + 1, comment.size() - open - 2);
  if (!place.starts_with(symbol)) return std::nullopt;
  place.remove_prefix(symbol.size());
  if (place.empty()) return start;
  if (!place.starts_with("+0x")) return std::nullopt;
  return start + hexadecimal(place.substr(3), comment);
}

Instruction instruction(std::string_view line, std::string_view symbol, std::uint64_t start) {
  const auto comment_at = line.find("//");
  if (comment_at == std::string_view::npos) throw Error(fmt::format("disassembly: no address in '{}'", line));
  const std::string_view comment = trim(line.substr(comment_at + 2));
  const auto [mnemonic, operands] = split_once(trim(line.substr(0, comment_at)), ' ');
  Instruction result{.address = hexadecimal(split_once(comment, ':').first, line),
                     .mnemonic = std::string(mnemonic),
                     .operands = std::string(trim(operands))};
  if (mnemonic.starts_with("s_cbranch") || mnemonic == "s_branch") {
    result.target = branch_target(comment, symbol, start);
  }
  return result;
}

// Symbols are padded with s_nop (and s_code_end) to the next one's alignment: not part of the kernel.
void drop_padding(Code& code) {
  auto& all = code.instructions;
  while (!all.empty() && (all.back().mnemonic == "s_nop" || all.back().mnemonic == "s_code_end")) all.pop_back();
}

}  // namespace

std::vector<Code> parse_disassembly(std::string_view text) {
  std::vector<Code> codes;
  std::uint64_t start = 0;
  for (std::string_view line : lines(text)) {
    if (opens_symbol(line)) {
      const auto [address, name] = split_once(line, ' ');
      start = hexadecimal(address, line);
      codes.push_back({.symbol = std::string(name.substr(1, name.size() - 3)), .instructions = {}});
    } else if (line.starts_with('\t') && trim(line) != "..." && !codes.empty()) {  // dots: zeros between functions
      codes.back().instructions.push_back(instruction(line, codes.back().symbol, start));
    }
  }
  for (Code& code : codes) drop_padding(code);
  return codes;
}

}  // namespace mla::isa
