#include "reports/detail/field.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/detail/strict_json.hpp"
#include "reports/detail/text.hpp"
#include "reports/error.hpp"

namespace mla::reports::detail {
namespace {

std::string value_text(const Json& value) {
  if (value.is_object()) return fmt::format("an object of {}", plural(value.size(), "member"));
  if (value.is_array()) return fmt::format("an array of {}", plural(value.size(), "element"));
  return shorten_middle(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

/// Finds the path of `target` by its address. Slow, but only a refusal needs it, and so no access pays for a path.
bool find_path(const Json& from, const Json* target, std::string& path) {
  if (&from == target) return true;
  const std::size_t length = path.size();
  if (from.is_object()) {
    for (const auto& [key, value] : from.items()) {
      path += '/' + pointer_token(key);
      if (find_path(value, target, path)) return true;
      path.resize(length);
    }
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      path += '/' + std::to_string(i);
      if (find_path(from[i], target, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

std::string Field::pointer() const {
  std::string path;
  find_path(*root_, value_, path);
  return path.empty() ? "/" : path;
}

void Field::refuse(std::string_view rule) const {
  throw ReportError(fmt::format("{} = {}: {}", pointer(), value_text(*value_), rule));
}

void Field::refuse_missing(std::string_view key) const {
  throw ReportError(fmt::format("{}: required member '{}' is missing", pointer(), key));
}

Field Field::at(std::string_view key) const {
  object();
  const auto member = value_->find(key);
  if (member == value_->end()) refuse_missing(key);
  return Field(*root_, *member);
}

std::optional<Field> Field::find(std::string_view key) const {
  object();
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return Field(*root_, *member);
}

std::optional<Field> Field::nullable(std::string_view key) const {
  const Field member = at(key);
  if (member.value_->is_null()) return std::nullopt;
  return member;
}

const Field& Field::object() const {
  if (!value_->is_object()) refuse("must be an object");
  return *this;
}

const Field& Field::array(std::size_t min_size, std::size_t max_size) const {
  if (!value_->is_array()) refuse("must be an array");
  if (value_->size() < min_size) refuse(fmt::format("must have at least {}", plural(min_size, "element")));
  if (value_->size() > max_size) refuse(fmt::format("must have at most {}", plural(max_size, "element")));
  return *this;
}

const Field& Field::only(std::initializer_list<std::string_view> members) const {
  object();
  for (const auto& [key, value] : value_->items()) {
    if (std::find(members.begin(), members.end(), key) == members.end()) {
      Field(*root_, value).refuse("unknown member in this version of the schema");
    }
  }
  return *this;
}

bool Field::is_text(std::string_view text) const {
  const auto* string = value_->get_ptr<const std::string*>();
  return string != nullptr && *string == text;
}

const std::string& Field::text() const {
  const auto* string = value_->get_ptr<const std::string*>();
  if (string == nullptr) refuse("must be a string");
  return *string;
}

const std::string& Field::nonempty() const {
  const std::string& string = text();
  if (string.empty()) refuse("must not be empty");
  return string;
}

bool Field::boolean() const {
  if (!value_->is_boolean()) refuse("must be true or false");
  return value_->get<bool>();
}

std::int64_t Field::integer(std::int64_t min) const {
  if (!value_->is_number_integer()) refuse("must be an integer");
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse("must be below 2^63");
  }
  const auto number = value_->get<std::int64_t>();
  if (number < min) refuse(fmt::format("must be at least {}", min));
  return number;
}

std::uint64_t Field::unsigned_integer() const {
  if (!value_->is_number_integer()) refuse("must be an integer from 0 to 2^64-1");
  if (!value_->is_number_unsigned() && value_->get<std::int64_t>() < 0) refuse("must be at least 0");
  return value_->get<std::uint64_t>();
}

double Field::number() const {
  if (!value_->is_number()) refuse("must be a number");
  const auto number = value_->get<double>();
  if (!std::isfinite(number)) refuse("must be finite");
  return number;
}

double Field::at_least_zero() const {
  const double value = number();
  if (value < 0) refuse("must be at least 0");
  return value;
}

double Field::above_zero() const {
  const double value = number();
  if (value <= 0) refuse("must be above 0");
  return value;
}

}  // namespace mla::reports::detail
