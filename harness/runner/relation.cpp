#include "harness/runner/relation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mla::harness::metamorphic {

namespace {

using Fields = DecodeProblem::Fields;

std::vector<Source> identity(const DecodeProblem& problem) {
  std::vector<Source> sources;
  for (int request = 0; request < problem.batch(); ++request) sources.push_back({.request = request});
  return sources;
}

// The pool that the base names holds its own pages; another number of pages needs another pool.
Variant variant(const DecodeProblem& base, Fields fields) {
  fields.pool_pages = 0;
  return {DecodeProblem(std::move(fields)), identity(base)};
}

Relation skip(std::string_view name, std::string why) {
  return {.name = name, .what = {}, .agreement = Agreement::rounding, .variants = {}, .skipped = std::move(why)};
}

void add_page_sizes(const DecodeProblem& base, std::vector<Relation>& relations) {
  for (const int page : {1, 16, 64, 256}) {
    if (page == base.fields().page_size) continue;
    Fields fields = base.fields();
    fields.page_size = page;
    relations.push_back({"page_size",
                         fmt::format("page {} as page {}", base.fields().page_size, page),
                         Agreement::rounding,
                         {variant(base, std::move(fields))},
                         {}});
  }
}

Relation page_permutation(const DecodeProblem& base) {
  if (base.total_pages() == 0) return skip("page_permutation", "there is no page");
  Fields fields = base.fields();
  fields.seed += 1;  // of the block table; the contents are the base's
  return {"page_permutation",
          "the same pages in another order",
          Agreement::bitwise,
          {variant(base, std::move(fields))},
          {}};
}

void add_split_counts(const DecodeProblem& base, std::vector<Relation>& relations) {
  for (const int splits : {1, 3}) {
    if (splits == base.fields().split_limit) continue;
    Fields fields = base.fields();
    fields.split_limit = splits;
    relations.push_back({"split_count",
                         fmt::format("at most {} split{}", splits, splits == 1 ? "" : "s"),
                         Agreement::rounding,
                         {variant(base, std::move(fields))},
                         {}});
  }
}

Relation batch_order(const DecodeProblem& base) {
  if (base.batch() < 2) return skip("batch_order", "there is one request");
  Fields fields = base.fields();
  if (fields.q_lens.size() > 1) std::reverse(fields.q_lens.begin(), fields.q_lens.end());
  if (fields.kv_lens.size() > 1) std::reverse(fields.kv_lens.begin(), fields.kv_lens.end());
  Variant reversed = variant(base, std::move(fields));
  std::reverse(reversed.sources.begin(), reversed.sources.end());
  return {"batch_order", "the requests in reverse", Agreement::rounding, {std::move(reversed)}, {}};
}

Relation head_padding(const DecodeProblem& base) {
  constexpr int kMultiple = 16;
  const int padded = std::min(kMaxHeads, (base.fields().heads / kMultiple + 1) * kMultiple);
  if (padded == base.fields().heads) return skip("head_padding", "there is no room for more heads");
  Fields fields = base.fields();
  fields.heads = padded;
  return {"head_padding",
          fmt::format("{} heads as the first of {}", base.fields().heads, padded),
          Agreement::rounding,
          {variant(base, std::move(fields))},
          {}};
}

// Every query token a request of its own, with the context that it sees.
Relation single_decodes(const DecodeProblem& base) {
  if (base.max_q_len() < 2) return skip("single_decodes", "no request has several query tokens");
  constexpr std::int64_t kMostRequests = 4096;  // their contexts are copied
  if (base.total_q() > kMostRequests) return skip("single_decodes", "too many query tokens to copy a context for each");
  Fields fields = base.fields();
  fields.pool_pages = 0;
  fields.kv_lens.clear();
  fields.q_lens = {1};
  std::vector<Source> sources;
  for (int request = 0; request < base.batch(); ++request) {
    const int queries = base.q_len(request);
    for (int query = 0; query < queries; ++query) {
      const std::int64_t hidden = base.fields().causal ? queries - 1 - query : 0;
      fields.kv_lens.push_back(std::max<std::int64_t>(0, base.kv_len(request) - hidden));
      sources.push_back({.request = request, .query_begin = query});
    }
  }
  fields.batch = static_cast<int>(sources.size());
  return {"single_decodes",
          "every query token decoded alone",
          Agreement::rounding,
          {{DecodeProblem(std::move(fields)), std::move(sources)}},
          {}};
}

// The context in two parts, each attended to by itself. All rows see the whole first part.
Relation chunked(const DecodeProblem& base) {
  Fields before = base.fields();
  before.pool_pages = 0;
  before.causal = false;
  before.kv_lens.clear();
  Fields after = before;
  after.causal = base.fields().causal;
  std::vector<Source> sources;
  for (int request = 0; request < base.batch(); ++request) {
    const std::int64_t tokens = base.kv_len(request);
    const std::int64_t hidden = base.fields().causal ? std::max(0, base.q_len(request) - 1) : 0;
    const std::int64_t cut = std::max<std::int64_t>(0, std::min(tokens / 2, tokens - hidden - 1));
    before.kv_lens.push_back(cut);
    after.kv_lens.push_back(tokens - cut);
    sources.push_back({.request = request, .kv_begin = cut});
  }
  return {"chunked",
          "the context in two parts, merged",
          Agreement::merged,
          {{DecodeProblem(std::move(before)), identity(base)}, {DecodeProblem(std::move(after)), std::move(sources)}},
          {}};
}

// Tokens dealt to ranks in turn, as decode context parallelism has it.
Relation context_parallel(const DecodeProblem& base) {
  if (base.fields().causal && base.max_q_len() > 1) {
    return skip("context_parallel", "with several query tokens a rank's causal mask is an argument of its own");
  }
  constexpr int kRanks = 3;
  Relation relation{
      "context_parallel", fmt::format("tokens dealt to {} ranks, merged", kRanks), Agreement::merged, {}, {}};
  for (int rank = 0; rank < kRanks; ++rank) {
    Fields fields = base.fields();
    fields.pool_pages = 0;
    fields.kv_lens.clear();
    std::vector<Source> sources;
    for (int request = 0; request < base.batch(); ++request) {
      fields.kv_lens.push_back((base.kv_len(request) - rank + kRanks - 1) / kRanks);
      sources.push_back({.request = request, .kv_begin = rank, .kv_stride = kRanks});
    }
    relation.variants.push_back({DecodeProblem(std::move(fields)), std::move(sources)});
  }
  return relation;
}

}  // namespace

std::vector<Relation> relations_of(const DecodeProblem& problem) {
  std::vector<Relation> relations;
  add_page_sizes(problem, relations);
  relations.push_back(page_permutation(problem));
  add_split_counts(problem, relations);
  relations.push_back(batch_order(problem));
  relations.push_back(head_padding(problem));
  relations.push_back(single_decodes(problem));
  relations.push_back(chunked(problem));
  relations.push_back(context_parallel(problem));
  return relations;
}

}  // namespace mla::harness::metamorphic
