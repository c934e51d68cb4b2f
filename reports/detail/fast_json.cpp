#include "reports/detail/fast_json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>

#include <simdjson.h>

#include "reports/detail/dom_field.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/read_case.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/detail/validate.hpp"
#include "reports/error.hpp"

namespace mla::reports::detail {
namespace {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

static_assert(kReadAhead >= simdjson::SIMDJSON_PADDING);

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
    default: return false;  // what only a newer parser tells apart
  }
}

/// What convert() refuses, for a value of which no Json is wanted.
bool is_strict(const dom::element& value, std::size_t depth);

bool has_distinct_keys(const dom::object& object) {
  std::array<std::string_view, 32> keys;
  if (object.size() > keys.size()) {
    std::unordered_set<std::string_view> seen;
    for (const auto member : object) {
      if (!seen.insert(member.key).second) return false;
    }
    return true;
  }
  std::size_t count = 0;
  for (const auto member : object) {
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(keys.begin(), end, member.key) != end) return false;
    keys[count++] = member.key;
  }
  return true;
}

bool is_strict_object(const dom::object& object, std::size_t depth) {
  if (depth > kMaxDepth || object.size() > kMaxMembers || !has_distinct_keys(object)) return false;
  for (const auto member : object) {
    if (!is_strict(member.value, depth)) return false;
  }
  return true;
}

bool is_strict_array(const dom::array& array, std::size_t depth) {
  if (depth > kMaxDepth) return false;
  for (const dom::element value : array) {
    if (!is_strict(value, depth)) return false;
  }
  return true;
}

bool is_strict(const dom::element& value, std::size_t depth) {
  if (value.is_object()) return is_strict_object(dom::object(value), depth + 1);
  if (value.is_array()) return is_strict_array(dom::array(value), depth + 1);
  return true;
}

/// Text of an object or array, skipped over in the document around it.
std::string_view skip(ondemand::value value) {
  if (value.type() == ondemand::json_type::object) {
    ondemand::object object = value.get_object();
    return object.raw_json();
  }
  ondemand::array array = value.get_array();
  return array.raw_json();
}

/// Reads a report's text in one pass. Members may stand in any order, but for the schema, which comes before the cases.
class ReportReader {
 public:
  explicit ReportReader(CaseJson keep) : keep_(keep) {}

  /// Throws where the text is not right: DomRefusal, ReportError or simdjson_error.
  Report read(const std::string& text) {
    ondemand::parser parser;
    ondemand::document document = parser.iterate(text);
    ondemand::object root = document.get_object();
    for (auto field : root) {
      const auto key = std::string(std::string_view(field.unescaped_key()));
      if (document_.contains(key)) throw DomRefusal();
      if (key == "cases") {
        document_[key] = Json::array();
        read_cases(field.value());
      } else {
        document_[key] = converted(skip(field.value()));
      }
    }
    // There is no place any more where the text has been read to its end: nothing stands behind the document.
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) throw DomRefusal();
    return finish();
  }

 private:
  Json converted(std::string_view text) {
    Json value;
    if (!convert(parser_.parse(text.data(), text.size()), 1, value)) throw DomRefusal();
    return value;
  }

  void read_cases(ondemand::value list) {
    if (!document_.contains("schema")) throw DomRefusal();
    const CaseReader<DomField> reader(parse_minor(document_));
    for (ondemand::value entry : list.get_array()) {
      const std::string_view text = skip(entry);
      const dom::element value = parser_.parse(text.data(), text.size());
      Case added = reader.read(DomField(value));
      const bool strict = keep_ == CaseJson::keep ? convert(value, 2, added.json) : is_strict(value, 2);
      if (!strict) throw DomRefusal();
      cases_.push_back(std::move(added));
    }
  }

  Report finish() {
    Report report = parse_header(document_, HeaderOf::report);
    std::unordered_set<std::string_view> keys;
    keys.reserve(cases_.size());
    for (const Case& entry : cases_) {
      if (!keys.insert(entry.key).second) throw DomRefusal();
      report.counts.add(entry.verdict);
    }
    parse_summary(document_, report);
    report.cases = std::move(cases_);
    return report;
  }

  CaseJson keep_;
  dom::parser parser_;  // of one part at a time
  Json document_;       // all but the cases
  std::vector<Case> cases_;
};

}  // namespace

std::optional<Json> parse_fast(std::string_view text) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  Json document;
  if (!convert(root, 0, document)) return std::nullopt;
  return document;
}

std::optional<Report> read_fast(const std::string& text, CaseJson keep) {
  try {
    return ReportReader(keep).read(text);
  } catch (const DomRefusal&) {
    return std::nullopt;
  } catch (const ReportError&) {
    return std::nullopt;
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

}  // namespace mla::reports::detail
