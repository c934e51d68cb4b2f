// The field table of the decode operation: one row a field, read by parse, print, help and the axes of suites.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

struct DecodeField {
  std::string_view name;
  std::string_view values;
  std::string_view meaning;
  /// Reads the field's text into `fields`; throws UsageError.
  void (*parse)(DecodeProblem::Fields& fields, std::string_view text);
  /// The field's text; equal to that of a default problem where the field can be left out.
  std::string (*print)(const DecodeProblem::Fields& fields);
};

/// All fields in canonical order.
[[nodiscard]] std::span<const DecodeField> decode_fields();

/// Fields of a problem that names only its element types: the scales' defaults depend on them.
[[nodiscard]] DecodeProblem::Fields default_decode_fields(ElementType q_type, ElementType kv_type);

}  // namespace mla::harness
