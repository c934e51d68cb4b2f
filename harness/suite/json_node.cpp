#include "harness/suite/json_node.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

// A container is summed up: dumping it could be as long as the file.
std::string shown(const nlohmann::json& value) {
  if (value.is_structured()) return fmt::format("{} of {}", value.type_name(), value.size());
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

}  // namespace

std::string JsonNode::place() const {
  return fmt::format("{}: {}", file_, pointer_.empty() ? "(root)" : pointer_);
}

void JsonNode::fail(std::string_view rule) const {
  throw UsageError(place(), shown(*value_), rule);
}

void JsonNode::require_keys(std::initializer_list<std::string_view> known) const {
  if (!value_->is_object()) fail("an object is needed");
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw UsageError(place(), key, fmt::format("unknown key; known are: {}", fmt::join(known, ", ")));
  }
}

JsonNode JsonNode::at(std::string_view key) const {
  if (auto member = find(key)) return *member;
  fail(fmt::format("the key '{}' is missing", key));
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) fail("an object is needed");
  const auto member = value_->find(std::string(key));
  if (member == value_->end()) return std::nullopt;
  return JsonNode(*member, file_, fmt::format("{}/{}", pointer_, key));
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) fail("an object is needed");
  std::vector<std::pair<std::string, JsonNode>> all;
  for (const auto& [key, member] : value_->items()) {
    all.emplace_back(key, JsonNode(member, file_, fmt::format("{}/{}", pointer_, key)));
  }
  return all;
}

std::vector<JsonNode> JsonNode::items() const {
  if (!value_->is_array()) fail("an array is needed");
  if (value_->empty()) fail("at least one element is needed");
  std::vector<JsonNode> all;
  all.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    all.emplace_back((*value_)[i], file_, fmt::format("{}/{}", pointer_, i));
  }
  return all;
}

std::string JsonNode::text() const {
  if (!value_->is_string()) fail("a string is needed");
  return value_->get<std::string>();
}

std::string JsonNode::name() const {
  const std::string name = text();
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  constexpr std::size_t kLongest = 100;
  if (name.empty() || name.size() > kLongest || !std::all_of(name.begin(), name.end(), allowed)) {
    fail("1 to 100 letters, digits, '.', '_' or '-' are needed");
  }
  return name;
}

std::int64_t JsonNode::integer(std::int64_t lowest, std::int64_t highest) const {
  const std::string rule = fmt::format("an integer from {} to {} is needed", lowest, highest);
  if (!value_->is_number_integer()) fail(rule);
  // Beyond int64 the library hands out a wrapped value.
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) fail(rule);
  const auto number = value_->get<std::int64_t>();
  if (number < lowest || number > highest) fail(rule);
  return number;
}

double JsonNode::real(double lowest, double highest) const {
  const std::string rule = fmt::format("a number from {} to {} is needed", lowest, highest);
  if (!value_->is_number()) fail(rule);
  const auto number = value_->get<double>();
  if (!(number >= lowest && number <= highest)) fail(rule);
  return number;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("true or false is needed");
  return value_->get<bool>();
}

}  // namespace mla::harness
