#include "harness/providers/eigen/split_plan.hpp"

#include <algorithm>

namespace mla::harness::eigen {

namespace {

constexpr std::int64_t kLeastTokens = 5 * kTileTokens;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// A block of a request's rows and the tokens that the last of them, hence any of them, sees.
struct RowGroup {
  std::int32_t request;
  std::int32_t row_begin;
  std::int32_t row_end;
  std::int64_t tokens;
};

std::vector<RowGroup> row_groups(const DecodeInputs& inputs) {
  std::vector<RowGroup> groups;
  for (std::int32_t request = 0; request < inputs.batch.batch; ++request) {
    const std::int32_t q_len = inputs.batch.query_length(request);
    const std::int64_t kv_len = inputs.batch.kv_length(request, inputs.kv.page_size);
    const std::int32_t rows = q_len * inputs.heads;
    for (std::int32_t begin = 0; begin < rows; begin += kRowsPerWork) {
      const std::int32_t end = std::min(begin + kRowsPerWork, rows);
      const std::int32_t last_query = (end - 1) / inputs.heads;
      groups.push_back({request, begin, end, visible_tokens(kv_len, q_len, last_query, inputs.causal)});
    }
  }
  return groups;
}

void add_works(const RowGroup& group, std::int64_t piece, SplitPlan& plan) {
  const std::int32_t rows = group.row_end - group.row_begin;
  const auto splits = static_cast<std::int32_t>(std::max<std::int64_t>(1, divide_up(group.tokens, piece)));
  Work work{group.request, group.row_begin, group.row_end, 0, std::min(piece, group.tokens), Work::kWhole};
  if (splits == 1) {
    plan.works.push_back(work);
    return;
  }
  plan.merges.push_back({group.request, group.row_begin, group.row_end, plan.partial_rows, splits});
  for (std::int32_t split = 0; split < splits; ++split) {
    work.kv_begin = split * piece;
    work.kv_end = std::min(work.kv_begin + piece, group.tokens);
    work.partial_row = plan.partial_rows;
    plan.works.push_back(work);
    plan.partial_rows += rows;
  }
}

std::int64_t cost(const Work& work) {
  return (work.row_end - work.row_begin) * (work.kv_end - work.kv_begin);
}

}  // namespace

std::int64_t tokens_per_work(std::int64_t total_tokens, int workers) {
  const std::int64_t share = divide_up(divide_up(total_tokens, workers), kTileTokens) * kTileTokens;
  return std::max(share, kLeastTokens);
}

SplitPlan make_split_plan(const DecodeInputs& inputs, int workers, int split_limit) {
  const std::vector<RowGroup> groups = row_groups(inputs);
  std::int64_t total = 0;
  for (const RowGroup& group : groups) total += group.tokens;
  const std::int64_t most = tokens_per_work(total, workers > 0 ? workers : kPlannedWorkers);

  SplitPlan plan;
  for (const RowGroup& group : groups) {
    std::int64_t splits = std::max<std::int64_t>(1, divide_up(group.tokens, most));
    if (split_limit > 0) splits = std::min<std::int64_t>(splits, split_limit);
    // Equal pieces of whole tiles; the last may be shorter.
    const std::int64_t piece = std::max<std::int64_t>(1, divide_up(divide_up(group.tokens, splits), kTileTokens));
    add_works(group, piece * kTileTokens, plan);
  }
  // Works are handed out in this order: a long one begun last would leave the other cores idle.
  std::ranges::stable_sort(plan.works, std::ranges::greater{}, cost);
  return plan;
}

}  // namespace mla::harness::eigen
