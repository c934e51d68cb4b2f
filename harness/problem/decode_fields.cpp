#include "harness/problem/decode_fields.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "harness/core/error.hpp"
#include "harness/problem/field.hpp"

namespace mla::harness {

namespace {

using Fields = DecodeProblem::Fields;

constexpr std::int64_t kMaxBatch = 65536;
constexpr std::int64_t kMaxKvLength = std::int64_t{1} << 22;
constexpr std::int64_t kMaxWorkers = 4096;

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

struct TypePair {
  ElementType q;
  ElementType kv;
  bool operator==(const TypePair&) const = default;
};

constexpr std::array<Named<TypePair>, 7> kTypePairs = {{
    {"bf16", {ElementType::bf16, ElementType::bf16}},
    {"bf16.fp8", {ElementType::bf16, ElementType::fp8}},
    {"fp8", {ElementType::fp8, ElementType::fp8}},
    {"bf16.e4m3fn", {ElementType::bf16, ElementType::e4m3fn}},
    {"e4m3fn", {ElementType::e4m3fn, ElementType::e4m3fn}},
    {"bf16.e4m3fnuz", {ElementType::bf16, ElementType::e4m3fnuz}},
    {"e4m3fnuz", {ElementType::e4m3fnuz, ElementType::e4m3fnuz}},
}};

constexpr std::array<Named<Distribution>, kDistributions> kNamedDistributions = {{
    {"randn", Distribution::randn},
    {"sharp", Distribution::sharp},
    {"needle", Distribution::needle},
    {"uniform", Distribution::uniform},
    {"ramp", Distribution::ramp},
    {"heavy", Distribution::heavy},
    {"outlier", Distribution::outlier},
    {"sink", Distribution::sink},
    {"saturating", Distribution::saturating},
}};

constexpr std::array<Named<Layout>, 2> kLayouts = {{{"dense", Layout::dense}, {"padded", Layout::padded}}};

constexpr std::array<Named<bool>, 2> kFlags = {{{"1", true}, {"0", false}}};

template <class Value, std::size_t Count>
Value value_of(std::string_view field, std::string_view text, const std::array<Named<Value>, Count>& table) {
  std::string allowed;
  for (const auto& row : table) {
    if (row.name == text) return row.value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError(field, text, "one of " + allowed + " is needed");
}

template <class Value, std::size_t Count>
std::string text_of(const Value& value, const std::array<Named<Value>, Count>& table) {
  for (const auto& row : table) {
    if (row.value == value) return std::string(row.name);
  }
  // Only reachable with a type pair that the constructor refuses.
  return "invalid";
}

void parse_distributions(Fields& fields, std::string_view text) {
  std::vector<Distribution> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const Distribution distribution = value_of("dist", text.substr(begin, end - begin), kNamedDistributions);
    if (std::find(all.begin(), all.end(), distribution) != all.end()) {
      throw UsageError("dist", text, "each distribution may be named once");
    }
    all.push_back(distribution);
    begin = end + 1;
  }
  fields.distribution = all.front();
  fields.also.assign(all.begin() + 1, all.end());
}

std::string print_distributions(const Fields& fields) {
  std::string text(name_of(fields.distribution));
  for (const Distribution distribution : fields.also) text += "+" + std::string(name_of(distribution));
  return text;
}

// clang-format off
constexpr std::array<DecodeField, 16> kFields = {{
    {"h", "1..128", "query heads on this rank",
     [](Fields& f, std::string_view t) { f.heads = static_cast<int>(parse_integer("h", t, 1, kMaxHeads)); },
     [](const Fields& f) { return fmt::format("{}", f.heads); }},
    {"q", "0..8, or a list", "query tokens a request",
     [](Fields& f, std::string_view t) { f.q_lens = parse_list("q", t, 0, kMaxQueryLength, kMaxBatch); },
     [](const Fields& f) { return print_list(f.q_lens); }},
    {"b", "1..65536", "requests in the batch; may be left out where a list gives it",
     [](Fields& f, std::string_view t) { f.batch = static_cast<int>(parse_integer("b", t, 1, kMaxBatch)); },
     [](const Fields& f) { return fmt::format("{}", f.batch); }},
    {"kv", "0..4194304, or a list", "context tokens a request, the query tokens' own included",
     [](Fields& f, std::string_view t) { f.kv_lens = parse_list("kv", t, 0, kMaxKvLength, kMaxBatch); },
     [](const Fields& f) { return print_list(f.kv_lens); }},
    {"page", "a power of two, 1..256", "tokens a page of the KV cache",
     [](Fields& f, std::string_view t) {
       f.page_size = static_cast<int>(parse_integer("page", t, 1, kMaxPageSize));
       if (!is_valid_page_size(f.page_size)) throw UsageError("page", t, "a power of two from 1 to 256 is needed");
     },
     [](const Fields& f) { return fmt::format("{}", f.page_size); }},
    {"dtype", "bf16, bf16.fp8, fp8, or with e4m3fn or e4m3fnuz for fp8", "element types of q.kv; fp8 is the target's own encoding",
     [](Fields& f, std::string_view t) {
       const TypePair pair = value_of("dtype", t, kTypePairs);
       f.q_type = pair.q;
       f.kv_type = pair.kv;
     },
     [](const Fields& f) { return text_of(TypePair{f.q_type, f.kv_type}, kTypePairs); }},
    {"causal", "0, 1", "1: query row i sees positions <= kv-q+i; 0: every row sees all",
     [](Fields& f, std::string_view t) { f.causal = value_of("causal", t, kFlags); },
     [](const Fields& f) { return text_of(f.causal, kFlags); }},
    {"scale", "a positive number", "softmax scale (sm_scale); the default is DeepSeek-V3's",
     [](Fields& f, std::string_view t) { f.sm_scale = parse_scale("scale", t); },
     [](const Fields& f) { return fmt::format("{}", f.sm_scale); }},
    {"qs", "a positive number", "scale of an fp8 q",
     [](Fields& f, std::string_view t) { f.q_scale = parse_scale("qs", t); },
     [](const Fields& f) { return fmt::format("{}", f.q_scale); }},
    {"ks", "a positive number", "scale of an fp8 kv",
     [](Fields& f, std::string_view t) { f.kv_scale = parse_scale("ks", t); },
     [](const Fields& f) { return fmt::format("{}", f.kv_scale); }},
    {"dist", "randn, sharp, needle, uniform, ramp, heavy, outlier, sink, saturating, or several joined by '+'",
     "contents of q and kv; the first is measured, each is checked",
     parse_distributions, print_distributions},
    {"seed", "0..2^64-1", "seed of the inputs and of the page permutation",
     [](Fields& f, std::string_view t) { f.seed = parse_unsigned("seed", t); },
     [](const Fields& f) { return fmt::format("{}", f.seed); }},
    {"cu", "0..4096", "workers to plan for; 0 means as many as the device has",
     [](Fields& f, std::string_view t) { f.workers = static_cast<int>(parse_integer("cu", t, 0, kMaxWorkers)); },
     [](const Fields& f) { return fmt::format("{}", f.workers); }},
    {"splits", "0..4096", "most splits a request; 0 leaves it to the planner",
     [](Fields& f, std::string_view t) { f.split_limit = static_cast<int>(parse_integer("splits", t, 0, kMaxWorkers)); },
     [](const Fields& f) { return fmt::format("{}", f.split_limit); }},
    {"stride", "dense, padded", "memory layout: padded sets rows, heads and pages apart by poisoned gaps",
     [](Fields& f, std::string_view t) { f.layout = value_of("stride", t, kLayouts); },
     [](const Fields& f) { return text_of(f.layout, kLayouts); }},
    {"pool", "0..2147483647", "pages in the KV pool; 0 means a few more than the batch uses",
     [](Fields& f, std::string_view t) { f.pool_pages = parse_integer("pool", t, 0, std::numeric_limits<std::int32_t>::max()); },
     [](const Fields& f) { return fmt::format("{}", f.pool_pages); }},
}};
// clang-format on

}  // namespace

std::string_view name_of(Distribution distribution) {
  for (const auto& row : kNamedDistributions) {
    if (row.value == distribution) return row.name;
  }
  return "?";
}

std::span<const DecodeField> decode_fields() {
  return kFields;
}

DecodeProblem::Fields default_decode_fields(ElementType q_type, ElementType kv_type) {
  Fields fields;
  fields.q_type = q_type;
  fields.kv_type = kv_type;
  if (q_type != ElementType::bf16) fields.q_scale = kDefaultFp8Scale;
  if (kv_type != ElementType::bf16) fields.kv_scale = kDefaultFp8Scale;
  return fields;
}

}  // namespace mla::harness
