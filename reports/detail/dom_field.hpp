// Typed access to a JSON value as simdjson holds it: the same questions as Field asks, and refusals without a word.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include <simdjson.h>

namespace mla::reports::detail {

/// Something is not as it must be. Whoever reads the text again by Field learns what.
struct DomRefusal {};

/// One value of a document. The parser that made it must outlive it.
class DomField {
 public:
  explicit DomField(simdjson::dom::element value) : value_(value) {}

  [[nodiscard]] DomField at(std::string_view key) const {
    const auto member = value_of(key);
    if (!member) refuse();
    return *member;
  }
  [[nodiscard]] std::optional<DomField> find(std::string_view key) const {
    auto member = value_of(key);
    if (member && member->value_.is_null()) member.reset();
    return member;
  }
  [[nodiscard]] std::optional<DomField> nullable(std::string_view key) const {
    const DomField member = at(key);
    return member.value_.is_null() ? std::nullopt : std::optional(member);
  }

  const DomField& object() const {
    if (!value_.is_object()) refuse();
    return *this;
  }
  const DomField& array(std::size_t min_size = 0,
                        std::size_t max_size = std::numeric_limits<std::size_t>::max()) const {
    if (!value_.is_array() || size() < min_size || size() > max_size) refuse();
    return *this;
  }
  const DomField& only(std::initializer_list<std::string_view> members) const {
    for (const auto member : as<simdjson::dom::object>()) {
      if (std::find(members.begin(), members.end(), member.key) == members.end()) refuse();
    }
    return *this;
  }

  [[nodiscard]] bool is_number() const { return value_.is_number(); }
  [[nodiscard]] bool is_structured() const { return value_.is_object() || value_.is_array(); }
  [[nodiscard]] bool is_text(std::string_view text) const { return value_.is_string() && this->text() == text; }
  [[nodiscard]] std::size_t size() const { return as<simdjson::dom::array>().size(); }

  [[nodiscard]] std::string_view text() const { return as<std::string_view>(); }
  [[nodiscard]] std::string_view nonempty() const {
    return checked(text(), [](auto text) { return !text.empty(); });
  }
  [[nodiscard]] bool boolean() const { return as<bool>(); }
  [[nodiscard]] std::int64_t integer(std::int64_t min) const {
    // Asked by name: every integer also passes for a double.
    if (value_.type() == simdjson::dom::element_type::DOUBLE) refuse();
    return checked(as<std::int64_t>(), [min](auto value) { return value >= min; });
  }
  [[nodiscard]] double number() const {
    return checked(as<double>(), [](double value) { return std::isfinite(value); });
  }
  [[nodiscard]] double at_least_zero() const {
    return checked(number(), [](double value) { return value >= 0; });
  }
  [[nodiscard]] double above_zero() const {
    return checked(number(), [](double value) { return value > 0; });
  }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto element : as<simdjson::dom::array>()) visit(DomField(element));
  }
  template <class Visit>
  void each_member(Visit&& visit) const {
    for (const auto member : as<simdjson::dom::object>()) visit(member.key, DomField(member.value));
  }

  [[noreturn]] void refuse(std::string_view /*rule*/ = {}) const { throw DomRefusal(); }

 private:
  template <class Value>
  [[nodiscard]] Value as() const {
    Value value;
    if (value_.get(value) != simdjson::SUCCESS) refuse();
    return value;
  }

  template <class Value, class Rule>
  [[nodiscard]] Value checked(Value value, Rule rule) const {
    if (!rule(value)) refuse();
    return value;
  }

  [[nodiscard]] std::optional<DomField> value_of(std::string_view key) const {
    simdjson::dom::element member;
    if (as<simdjson::dom::object>().at_key(key).get(member) != simdjson::SUCCESS) return std::nullopt;
    return DomField(member);
  }

  simdjson::dom::element value_;
};

}  // namespace mla::reports::detail
