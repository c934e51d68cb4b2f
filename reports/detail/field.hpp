// Typed access to a JSON document: every refusal names the JSON pointer, the value and the rule.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace mla::reports::detail {

/// One value of a document. Small enough to pass by value; the document must outlive it.
class Field {
 public:
  explicit Field(const Json& document) : root_(&document), value_(&document) {}
  /// A value inside a document.
  [[nodiscard]] static Field within(const Json& document, const Json& value) { return Field(document, value); }

  /// Required member of an object.
  [[nodiscard]] Field at(std::string_view key) const;
  /// Optional member: none where absent or null.
  [[nodiscard]] std::optional<Field> find(std::string_view key) const;
  /// Required member that may be null: none where null.
  [[nodiscard]] std::optional<Field> nullable(std::string_view key) const;

  [[nodiscard]] const Json& json() const { return *value_; }

  const Field& object() const;
  const Field& array(std::size_t min_size = 0, std::size_t max_size = std::numeric_limits<std::size_t>::max()) const;
  /// Refuses members that are not in the list.
  const Field& only(std::initializer_list<std::string_view> members) const;

  [[nodiscard]] bool is_number() const { return value_->is_number(); }
  [[nodiscard]] bool is_structured() const { return value_->is_structured(); }
  [[nodiscard]] bool is_text(std::string_view text) const;
  [[nodiscard]] std::size_t size() const { return value_->size(); }

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& nonempty() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(std::int64_t min) const;
  [[nodiscard]] std::uint64_t unsigned_integer() const;
  /// Any finite number.
  [[nodiscard]] double number() const;
  [[nodiscard]] double at_least_zero() const;
  [[nodiscard]] double above_zero() const;

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Json& element : *value_) visit(Field(*root_, element));
  }

  template <class Visit>
  void each_member(Visit&& visit) const {
    for (const auto& [key, value] : value_->items()) visit(key, Field(*root_, value));
  }

  /// Throws ReportError: "<pointer> = <value>: <rule>".
  [[noreturn]] void refuse(std::string_view rule) const;
  [[noreturn]] void refuse_missing(std::string_view key) const;

  /// JSON pointer of the value in its document.
  [[nodiscard]] std::string pointer() const;

 private:
  Field(const Json& root, const Json& value) : root_(&root), value_(&value) {}

  const Json* root_;
  const Json* value_;
};

}  // namespace mla::reports::detail
