#include "harness/runner/cost.hpp"

#include <algorithm>

namespace mla::harness {

Cost cost_of(const DecodeProblem& problem, const DecodeLayout& layout) {
  const std::int64_t heads = problem.fields().heads;
  Cost cost;
  cost.fp8_products = is_fp8(layout.q_type()) && is_fp8(layout.kv_type());
  for (int request = 0; request < problem.batch(); ++request) {
    const int rows = problem.q_len(request);
    std::int64_t seen = 0;
    for (int row = 0; row < rows; ++row) {
      const std::int64_t visible = problem.visible_tokens(request, row);
      cost.flops += 2 * heads * (kHeadDim + kValueDim) * visible;
      seen = std::max(seen, visible);
    }
    cost.bytes += seen * kHeadDim * size_in_bytes(layout.kv_type());
    cost.bytes += rows * heads * (kHeadDim * size_in_bytes(layout.q_type()) + kValueDim * 2 + 4);
  }
  return cost;
}

}  // namespace mla::harness
