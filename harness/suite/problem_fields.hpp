// Fields of a problem word collected one by one, before there is a word.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "harness/problem/problem.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/model.hpp"

namespace mla::harness {

/// A field's value in a suite as text of a problem word: numbers and strings as they are, true and false as 1 and 0, a
/// list joined by '+'.
[[nodiscard]] std::string field_text(const JsonNode& value);

/// Collects fields by name. Beside the operation's own fields it knows `lengths`, the shape of a ragged batch, which
/// turns one `kv` into a list of b lengths: `uniform` all kv; `ragged` up to 16 runs of lengths spread over 1..kv, the
/// first kv itself; `one-long` one of kv and the rest of 65, which is one token past a page of 64.
class ProblemFields {
 public:
  explicit ProblemFields(Operation operation) : operation_(operation) {}

  /// Throws UsageError on a name that the operation does not have, or one set before.
  void set(const std::string& name, std::string value);
  /// Sets h and scale.
  void set_model(const Model& model, int tp);

  /// Throws UsageError naming the field, its value and the rule.
  [[nodiscard]] Problem problem() const;

 private:
  [[nodiscard]] std::map<std::string, std::string> resolved() const;

  Operation operation_;
  std::map<std::string, std::string> values_;
};

}  // namespace mla::harness
