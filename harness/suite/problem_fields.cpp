#include "harness/suite/problem_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

constexpr std::string_view kLengths = "lengths";
constexpr std::int64_t kShortLength = 65;

std::string scalar_text(const JsonNode& node) {
  const nlohmann::json& value = node.value();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<std::uint64_t>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_string()) node.fail("a number, a string, true, false or a list is needed");
  const std::string text = node.text();
  // A value that held a separator would add fields of its own to the word.
  if (text.empty() || text.find_first_of(",=: \t\n") != std::string::npos) {
    node.fail("a value holds no blank, ',', '=' or ':'");
  }
  return text;
}

std::int64_t parse_count(std::string_view field, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw UsageError(field, text, fmt::format("with '{}' one positive integer is needed", kLengths));
  }
  return value;
}

// Lengths spread over 1..longest without period, so that they sit at all distances from page and tile edges.
std::string ragged(std::int64_t batch, std::int64_t longest) {
  constexpr double kGolden = 0.61803398874989485;
  const std::int64_t runs = std::min<std::int64_t>(batch, 16);
  std::string list;
  for (std::int64_t run = 0; run < runs; ++run) {
    const double step = static_cast<double>(run) * kGolden;
    const double share = 1 - (step - std::floor(step));
    const auto length = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(longest)));
    const std::int64_t repeats = batch * (run + 1) / runs - batch * run / runs;
    list += fmt::format("{}{}x{}", run == 0 ? "" : "+", repeats, length);
  }
  return list;
}

std::string ragged_list(const std::string& shape, std::int64_t batch, std::int64_t longest) {
  if (shape == "uniform") return fmt::format("{}", longest);
  if (shape == "ragged") return ragged(batch, longest);
  if (shape != "one-long") throw UsageError(kLengths, shape, "one of uniform, ragged, one-long is needed");
  if (batch == 1) return fmt::format("{}", longest);
  return fmt::format("{}+{}x{}", longest, batch - 1, std::min(longest, kShortLength));
}

bool has_field(Operation operation, std::string_view name) {
  const auto fields = Problem::fields(operation);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldHelp& field) { return field.name == name; });
}

std::string field_names(Operation operation) {
  std::string names;
  for (const FieldHelp& field : Problem::fields(operation)) names += field.name + " ";
  return names + std::string(kLengths);
}

}  // namespace

std::string field_text(const JsonNode& value) {
  if (!value.value().is_array()) return scalar_text(value);
  std::string list;
  for (const JsonNode& item : value.items()) list += (list.empty() ? "" : "+") + scalar_text(item);
  return list;
}

void ProblemFields::set(const std::string& name, std::string value) {
  if (name != kLengths && !has_field(operation_, name)) {
    throw UsageError("field", name,
                     fmt::format("{} has no such field; it has: {}", name_of(operation_), field_names(operation_)));
  }
  const std::string shown = value;
  if (!values_.emplace(name, std::move(value)).second) throw UsageError(name, shown, "the field is set twice");
}

void ProblemFields::set_model(const Model& model, int tp) {
  set("h", fmt::format("{}", model.heads_per_rank(tp)));
  set("scale", fmt::format("{}", model.sm_scale()));
}

std::map<std::string, std::string> ProblemFields::resolved() const {
  std::map<std::string, std::string> values = values_;
  const auto lengths = values.find(std::string(kLengths));
  if (lengths == values.end()) return values;
  const auto kv = values.find("kv");
  const auto b = values.find("b");
  if (kv == values.end() || b == values.end()) throw UsageError(kLengths, lengths->second, "kv and b are needed too");
  constexpr std::int64_t kLargestBatch = 65536;
  const std::int64_t batch = parse_count("b", b->second);
  if (batch > kLargestBatch) throw UsageError("b", b->second, fmt::format("at most {} is allowed", kLargestBatch));
  kv->second = ragged_list(lengths->second, batch, parse_count("kv", kv->second));
  values.erase(lengths);
  return values;
}

Problem ProblemFields::problem() const {
  std::string word;
  for (const auto& [name, value] : resolved()) word += fmt::format("{}{}={}", word.empty() ? "" : ",", name, value);
  return Problem::parse(fmt::format("{}:{}", name_of(operation_), word));
}

}  // namespace mla::harness
