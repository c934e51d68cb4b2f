// A metamorphic relation: the same rows of attention asked for in another way, and which rows must agree. Detail of
// metamorphic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness::metamorphic {

/// Where one request of a variant has its contents from: query row i is query row `query_begin` + i, and the token at
/// position p the one at `kv_begin` + p * `kv_stride`, of request `request` of the base problem.
struct Source {
  int request = 0;
  int query_begin = 0;
  std::int64_t kv_begin = 0;
  std::int64_t kv_stride = 1;
};

/// Another problem whose rows are rows of the base problem, or parts of them. Head h is head h of the base; heads
/// beyond the base's hold other contents, and nothing is asked of their results.
struct Variant {
  DecodeProblem problem;
  std::vector<Source> sources;  // one a request
};

/// How results are compared.
enum class Agreement : std::uint8_t {
  rounding,  // each result may differ from the right one by what its precision explains
  bitwise,   // the same work in the same order
  merged,    // the variants' results are parts over disjoint tokens, merged by their log-sum-exps
};

struct Relation {
  std::string_view name;
  std::string what;  // "page 16 as page 64"
  Agreement agreement = Agreement::rounding;
  std::vector<Variant> variants;  // each is a whole answer, or with `merged` all together are one
  std::string skipped;            // why it does not apply; then there are no variants
};

/// The relations that concern a problem by itself, in a fixed order. Those between launches (replay) are not among
/// them.
[[nodiscard]] std::vector<Relation> relations_of(const DecodeProblem& problem);

}  // namespace mla::harness::metamorphic
