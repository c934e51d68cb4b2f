// A value inside a JSON document that knows where it stands, so that every complaint about it can say so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace mla::harness {

/// A typed reader over one value. The document must outlive it. Every accessor throws UsageError naming the file, the
/// JSON pointer, the value and the rule.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, std::string file, std::string pointer = {})
      : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[noreturn]] void fail(std::string_view rule) const;

  /// Requires an object whose keys are all in `known`.
  void require_keys(std::initializer_list<std::string_view> known) const;
  /// The member, which must exist.
  [[nodiscard]] JsonNode at(std::string_view key) const;
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const;
  /// All members of an object in the order of their keys.
  [[nodiscard]] std::vector<std::pair<std::string, JsonNode>> members() const;
  /// All elements of an array, which must have at least one.
  [[nodiscard]] std::vector<JsonNode> items() const;

  [[nodiscard]] std::string text() const;
  /// A string of letters, digits, '.', '_' and '-', at most 100: safe in a case key, a file name and a regular
  /// expression.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::int64_t integer(std::int64_t lowest, std::int64_t highest) const;
  [[nodiscard]] double real(double lowest, double highest) const;
  [[nodiscard]] bool boolean() const;

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  /// "file: /pointer", as errors name it.
  [[nodiscard]] std::string place() const;

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string pointer_;
};

}  // namespace mla::harness
