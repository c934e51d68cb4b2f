// A problem of any operation, and its one-word text form.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

/// The operations under test. A new one adds a descriptor to the variant in Problem, a field table beside it, and
/// overloads where the compiler then asks for them.
enum class Operation : std::uint8_t { decode };

[[nodiscard]] std::string_view name_of(Operation operation);

/// Describes one field of a problem word, for `--help` and for the axes of a suite.
struct FieldHelp {
  std::string name;
  std::string values;
  std::string default_value;
  std::string meaning;
};

/// Immutable problem descriptor. `parse(word()) == *this` holds for every problem.
class Problem {
 public:
  explicit Problem(DecodeProblem decode) : descriptor_(std::move(decode)) {}

  /// Reads `operation:field=value,...`; throws UsageError naming field, value and rule.
  [[nodiscard]] static Problem parse(std::string_view word);

  /// The canonical one-word form; holds no character that a shell would expand.
  [[nodiscard]] std::string word() const;

  [[nodiscard]] Operation operation() const { return static_cast<Operation>(descriptor_.index()); }

  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), descriptor_);
  }

  bool operator==(const Problem&) const = default;

  /// The fields of an operation's word in canonical order.
  [[nodiscard]] static std::span<const FieldHelp> fields(Operation operation);

 private:
  std::variant<DecodeProblem> descriptor_;
};

}  // namespace mla::harness
