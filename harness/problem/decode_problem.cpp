#include "harness/problem/decode_problem.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/problem/decode_fields.hpp"

namespace mla::harness {

namespace {

using Fields = DecodeProblem::Fields;

// A list of equal values is the same problem as that one value, and must print as the same word.
void collapse(std::vector<std::int64_t>& list) {
  if (std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) == list.end() && !list.empty())
    list.resize(1);
}

void require_one_or_batch(std::string_view field, const std::vector<std::int64_t>& list, int batch) {
  if (list.size() == 1 || list.size() == static_cast<std::size_t>(batch)) return;
  const std::string rule =
      fmt::format("one value, or one for each of the b={} requests is needed, not {}", batch, list.size());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 20); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "+", list[i]);
  throw UsageError(field, text, rule);
}

void require_scale_has_operand(std::string_view field, double scale, ElementType type) {
  if (type == ElementType::bf16 && scale != 1) {
    throw UsageError(field, fmt::format("{}", scale), "a scale belongs to an fp8 operand, and this one is bf16");
  }
}

// A problem may be built from Fields in code as well as from a word: printing each field and reading it back applies
// the one set of rules to both.
void require_valid_values(const Fields& fields) {
  Fields copy = fields;
  for (const DecodeField& field : decode_fields()) field.parse(copy, field.print(fields));
}

}  // namespace

DecodeProblem::DecodeProblem(Fields fields) : fields_(std::move(fields)) {
  // Contents that are named twice are checked once.
  std::erase(fields_.also, fields_.distribution);
  require_valid_values(fields_);
  require_one_or_batch("q", fields_.q_lens, fields_.batch);
  require_one_or_batch("kv", fields_.kv_lens, fields_.batch);
  require_scale_has_operand("qs", fields_.q_scale, fields_.q_type);
  require_scale_has_operand("ks", fields_.kv_scale, fields_.kv_type);
  collapse(fields_.q_lens);
  collapse(fields_.kv_lens);

  for (int request = 0; request < batch(); ++request) {
    total_q_ += q_len(request);
    total_kv_ += kv_len(request);
    total_pages_ += kv_pages(request);
    max_q_len_ = std::max(max_q_len_, q_len(request));
  }
  if (total_pages_ >= std::numeric_limits<std::int32_t>::max()) {
    throw UsageError("kv", std::to_string(total_kv_),
                     "kv_indptr counts pages in 32 bits: fewer than 2^31 pages a batch are allowed");
  }
  if (fields_.pool_pages != 0 && fields_.pool_pages <= total_pages_) {
    throw UsageError(
        "pool", std::to_string(fields_.pool_pages),
        fmt::format("more pages than the {} in use are needed, since page 0 stays unreferenced", total_pages_));
  }
}

std::string DecodeProblem::word() const {
  const Fields defaults = default_decode_fields(fields_.q_type, fields_.kv_type);
  const Fields bf16_defaults;
  std::string text;
  for (const DecodeField& field : decode_fields()) {
    const std::string value = field.print(fields_);
    const bool is_default = value == field.print(field.name == "dtype" ? bf16_defaults : defaults);
    if (!is_default) text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.name, value);
  }
  return "decode:" + text;
}

DecodeProblem DecodeProblem::with_distribution(Distribution distribution) const {
  Fields fields = fields_;
  fields.distribution = distribution;
  fields.also.clear();
  return DecodeProblem(std::move(fields));
}

DataType resolve(ElementType type, DataType native_fp8) {
  switch (type) {
    case ElementType::bf16: return DataType::bf16;
    case ElementType::fp8: return native_fp8;
    case ElementType::e4m3fn: return DataType::e4m3fn;
    case ElementType::e4m3fnuz: return DataType::e4m3fnuz;
  }
  return DataType::bf16;
}

}  // namespace mla::harness
