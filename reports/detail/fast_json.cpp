#include "reports/detail/fast_json.hpp"

#include <string>
#include <utility>

#include <simdjson.h>

#include "reports/detail/strict_json.hpp"

namespace mla::reports::detail {
namespace {

namespace dom = simdjson::dom;

bool convert(const dom::element& from, std::size_t depth, Json& to);

bool convert_object(const dom::object& from, std::size_t depth, Json& to) {
  if (depth > kMaxDepth || from.size() > kMaxMembers) return false;
  to = Json::object();
  for (const auto [key, value] : from) {
    const auto [member, inserted] = to.emplace(std::string(key), nullptr);
    if (!inserted || !convert(value, depth, member.value())) return false;
  }
  return true;
}

bool convert_array(const dom::array& from, std::size_t depth, Json& to) {
  if (depth > kMaxDepth) return false;
  Json::array_t list;
  list.reserve(from.size());
  for (const dom::element value : from) {
    if (!convert(value, depth, list.emplace_back())) return false;
  }
  to = std::move(list);
  return true;
}

bool convert(const dom::element& from, std::size_t depth, Json& to) {
  switch (from.type()) {
    case dom::element_type::OBJECT: return convert_object(dom::object(from), depth + 1, to);
    case dom::element_type::ARRAY: return convert_array(dom::array(from), depth + 1, to);
    case dom::element_type::STRING: to = std::string(std::string_view(from)); return true;
    case dom::element_type::DOUBLE: to = double(from); return true;
    case dom::element_type::UINT64: to = std::uint64_t(from); return true;
    case dom::element_type::INT64: {
      // As nlohmann_json does: only negative numbers are signed.
      const auto value = std::int64_t(from);
      if (value < 0) {
        to = value;
      } else {
        to = static_cast<std::uint64_t>(value);
      }
      return true;
    }
    case dom::element_type::BOOL: to = bool(from); return true;
    case dom::element_type::NULL_VALUE: to = nullptr; return true;
  }
  return false;
}

}  // namespace

std::optional<Json> parse_fast(std::string_view text) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  Json document;
  if (!convert(root, 0, document)) return std::nullopt;
  return document;
}

}  // namespace mla::reports::detail
