#include "harness/problem/problem.hpp"

#include <array>
#include <set>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/problem/decode_fields.hpp"

namespace mla::harness {

namespace {

// Longer than any real batch (65536 requests of 8 characters), short enough that a pasted file is refused at once.
constexpr std::size_t kLongestWord = 1 << 20;

struct Assignment {
  std::string_view field;
  std::string_view value;
};

std::vector<Assignment> split_assignments(std::string_view text) {
  std::vector<Assignment> assignments;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw UsageError("problem field", item, "'field=value' is needed");
    if (!seen.insert(item.substr(0, equals)).second)
      throw UsageError("problem field", item, "the field is given twice");
    assignments.push_back({item.substr(0, equals), item.substr(equals + 1)});
    if (comma == std::string_view::npos) break;
    text = text.substr(comma + 1);
    if (text.empty()) throw UsageError("problem field", "", "nothing follows the last ','");
  }
  return assignments;
}

const DecodeField& find_decode_field(std::string_view name) {
  std::string known;
  for (const DecodeField& field : decode_fields()) {
    if (field.name == name) return field;
    known += (known.empty() ? "" : " ") + std::string(field.name);
  }
  throw UsageError("problem field", name, "decode has no such field; it has: " + known);
}

DecodeProblem parse_decode(std::string_view text) {
  const std::vector<Assignment> assignments = split_assignments(text);
  DecodeProblem::Fields types;
  bool batch_given = false;
  for (const auto& [name, value] : assignments) {
    const DecodeField& field = find_decode_field(name);
    if (name == "dtype") field.parse(types, value);
    batch_given = batch_given || name == "b";
  }
  DecodeProblem::Fields fields = default_decode_fields(types.q_type, types.kv_type);
  for (const auto& [name, value] : assignments) find_decode_field(name).parse(fields, value);
  if (!batch_given) fields.batch = static_cast<int>(std::max(fields.q_lens.size(), fields.kv_lens.size()));
  return DecodeProblem(std::move(fields));
}

std::vector<FieldHelp> decode_help() {
  const DecodeProblem::Fields defaults;
  std::vector<FieldHelp> help;
  for (const DecodeField& field : decode_fields()) {
    std::string text = field.print(defaults);
    if (field.name == "qs" || field.name == "ks") text = fmt::format("{} where fp8", kDefaultFp8Scale);
    help.push_back({std::string(field.name), std::string(field.values), std::move(text), std::string(field.meaning)});
  }
  return help;
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::decode: return "decode";
  }
  return "?";
}

Problem Problem::parse(std::string_view word) {
  if (word.size() > kLongestWord)
    throw UsageError("problem", word, fmt::format("at most {} characters are read", kLongestWord));
  const std::size_t colon = word.find(':');
  const std::string_view operation = word.substr(0, colon);
  if (operation != "decode") {
    throw UsageError("problem", word, "'OPERATION:field=value,...' is needed, and OPERATION is one of: decode");
  }
  return Problem(parse_decode(colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1)));
}

std::string Problem::word() const {
  return visit([](const auto& descriptor) { return descriptor.word(); });
}

std::span<const FieldHelp> Problem::fields(Operation operation) {
  static const std::vector<FieldHelp> decode = decode_help();
  switch (operation) {
    case Operation::decode: return decode;
  }
  return {};
}

}  // namespace mla::harness
