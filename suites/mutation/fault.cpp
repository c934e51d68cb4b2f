#include "suites/mutation/fault.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace mla::mutation {

namespace {

using M = Mechanism;
using P = Place;

// The head that variants for one head strike.
constexpr int kOneHead = 5;

// What catches a fault of weights or values: any tier over the numbers. Which one depends on the data and the types.
constexpr std::string_view kNumbers = "lse|stat|slope|probes|hard";
constexpr std::string_view kOutput = "stat|slope|probes|hard";
constexpr std::string_view kLse = "lse|probes";
// A kernel that takes maxima may swallow the NaN of memory that it must not read, and is then wrong in numbers.
constexpr std::string_view kStray = "nonfinite|lse|stat|slope|probes|hard";

const double kWrongWidth = std::sqrt(192.0 / 576.0);

const std::array kFaults = {
    Fault{"M1.first", "first token dropped", M::drop_token, 1, P::first, kAllHeads, kNumbers},
    Fault{"M1.middle", "a middle token dropped", M::drop_token, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M1.last", "last token dropped", M::drop_token, 1, P::last, kAllHeads, kNumbers},
    Fault{"M1.page-edge", "last token of a page dropped", M::drop_token, 1, P::page_edge, kAllHeads, kNumbers},
    Fault{"M1.split-edge", "first token of a split dropped", M::drop_token, 1, P::split_edge, kAllHeads, kNumbers},
    Fault{"M1.first.one-head", "first token dropped in one head", M::drop_token, 1, P::first, kOneHead, kNumbers},
    Fault{"M1.middle.one-head", "a middle token dropped in one head", M::drop_token, 1, P::middle, kOneHead, kNumbers},
    Fault{"M1.last.one-head", "last token dropped in one head", M::drop_token, 1, P::last, kOneHead, kNumbers},
    Fault{"M1.page-edge.one-head", "last token of a page dropped in one head", M::drop_token, 1, P::page_edge, kOneHead,
          kNumbers},
    Fault{"M1.split-edge.one-head", "first token of a split dropped in one head", M::drop_token, 1, P::split_edge,
          kOneHead, kNumbers},
    Fault{"M2.middle", "a middle token counted twice", M::duplicate_token, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M2.split-edge", "first token of a split counted twice", M::duplicate_token, 1, P::split_edge, kAllHeads,
          kNumbers},
    Fault{"M3.plus", "causal mask lets one token more through", M::shift_mask, 1, P::last, kAllHeads, kNumbers},
    Fault{"M3.minus", "causal mask hides one token too many", M::shift_mask, -1, P::last, kAllHeads, kNumbers},
    Fault{"M3.none", "no causal mask", M::shift_mask, 1000, P::last, kAllHeads, kNumbers},
    Fault{"M4.low", "softmax scale x 0.99", M::scale_logits, 0.99, P::middle, kAllHeads, kNumbers},
    Fault{"M4.high", "softmax scale x 1.01", M::scale_logits, 1.01, P::middle, kAllHeads, kNumbers},
    Fault{"M4.width", "softmax scale of 576 in place of 192", M::scale_logits, kWrongWidth, P::middle, kAllHeads,
          kNumbers},
    Fault{"M5.output", "output x 1.01", M::scale_output, 1.01, P::middle, kAllHeads, kOutput},
    Fault{"M5.row-sum", "row sum / 1.01", M::scale_row_sum, 1.01, P::middle, kAllHeads, kNumbers},
    Fault{"M6", "V shifted by one token within a block of 64", M::roll_values, 1, P::middle, kAllHeads, kOutput},
    Fault{"M7.previous", "one page read in place of the next", M::previous_page, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M7.stale", "a page read that was given back", M::unreferenced_page, 1, P::middle, kAllHeads, kStray},
    Fault{"M7.tail", "last page read to its end", M::read_tail, 1, P::last, kAllHeads, kStray},
    Fault{"M8.output", "one split's output is stale in one head", M::stale_split_output, 1, P::middle, kOneHead,
          kOutput},
    Fault{"M8.lse", "one split's log-sum-exp is stale in one head", M::stale_split_lse, 1, P::middle, kOneHead,
          kNumbers},
    Fault{"M8.unwritten", "one split's output is zero in one head", M::unwritten_split, 1, P::middle, kOneHead,
          kOutput},
    Fault{"M9.weights", "splits averaged without their weights", M::equal_split_weights, 1, P::middle, kAllHeads,
          kOutput},
    Fault{"M9.rescale-output", "accumulator not rescaled in one block", M::no_rescale_of_output, 1, P::middle,
          kAllHeads, kOutput},
    Fault{"M9.rescale", "accumulator and row sum not rescaled in one block", M::no_rescale, 1, P::middle, kAllHeads,
          kNumbers},
    Fault{"M10.nan", "an empty split contributes NaN", M::empty_split_nan, 1, P::middle, kAllHeads, "nonfinite"},
    Fault{"M10.zero", "an empty split weighs e^0", M::empty_split_zero, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M10.one", "an empty split weighs e^0 and holds 1", M::empty_split_one, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M11", "one element holds its neighbour's value", M::wrong_element, 1, P::middle, kOneHead, kOutput},
    Fault{"M12.heads", "two heads swapped", M::swap_heads, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M12.rows", "two query rows swapped", M::swap_queries, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M13.ignored", "rope part ignored", M::ignore_rope, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M13.twice", "rope part added twice", M::add_rope_twice, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M14.q", "q_scale x 2", M::scale_query, 2, P::middle, kAllHeads, kNumbers},
    Fault{"M14.k", "kv_scale x 2 in the logits", M::scale_keys, 2, P::middle, kAllHeads, kNumbers},
    Fault{"M14.v", "kv_scale x 2 in the output", M::scale_values, 2, P::middle, kAllHeads, kOutput},
    Fault{"M14.ignored", "kv_scale ignored", M::ignore_kv_scale, 1, P::middle, kAllHeads, kNumbers},
    Fault{"M15.output", "output cut to bf16 instead of rounded", M::truncate_output, 1, P::middle, kAllHeads, kOutput},
    Fault{"M15.p", "P cut to bf16 instead of rounded", M::truncate_probabilities, 1, P::middle, kAllHeads, kOutput},
    Fault{"M16.row-sum", "row sum of rounded P, declared as of float32", M::other_row_sum, 1, P::middle, kAllHeads,
          kLse},
    Fault{"M16.coarse", "P rounded to e4m3, declared as bf16", M::coarse_probabilities, 1, P::middle, kAllHeads,
          kOutput},
    Fault{"M17", "last row not written", M::skip_last_row, 1, P::last, kAllHeads, "unwritten"},
    Fault{"M18", "one byte written behind the output", M::write_past_end, 1, P::last, kAllHeads, "canary"},
    Fault{"M19", "one bit flipped in 1 of 8 launches", M::race, 1, P::middle, kAllHeads, "not_repeatable"},
    Fault{"M20", "answer cached by the inputs' address", M::cached_answer, 1, P::middle, kAllHeads, "stale_answer"},
    Fault{"M21", "output is zero", M::zero_output, 1, P::middle, kAllHeads, kOutput},
    Fault{"M22", "output has the wrong sign", M::negate_output, 1, P::middle, kAllHeads, kOutput},
    Fault{"M23.dropped", "the sink token dropped", M::drop_token, 1, P::first, kAllHeads, kNumbers},
    Fault{"M23.phantom", "a sink of logit 0 that nobody asked for", M::empty_split_zero, 1, P::middle, kAllHeads,
          kNumbers},
};

// Splits as the emulated kernel makes them where it is left to choose.
bool has_long_split(const harness::DecodeProblem& problem) {
  for (int request = 0; request < problem.batch(); ++request) {
    if (problem.q_len(request) > 0 && problem.kv_len(request) > 64 * 4) return true;
  }
  return false;
}

}  // namespace

int Fault::family() const {
  if (!name.starts_with('M')) return 0;
  int number = 0;
  for (std::size_t i = 1; i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i)
    number = 10 * number + name[i] - '0';
  return number;
}

std::span<const Fault> faults() {
  return kFaults;
}

std::string_view inert_reason(const Fault& fault, const harness::DecodeProblem& problem) {
  const auto& fields = problem.fields();
  const bool fp8_q = fields.q_type != harness::ElementType::bf16;
  const bool fp8_kv = fields.kv_type != harness::ElementType::bf16;
  bool partial_page = false;
  bool several_pages = false;
  for (int request = 0; request < problem.batch(); ++request) {
    partial_page = partial_page || problem.kv_len(request) % fields.page_size != 0;
    several_pages = several_pages || problem.kv_len(request) / 2 >= fields.page_size;
  }
  switch (fault.mechanism) {
    case M::shift_mask:
      if (fault.amount > 0 && (problem.max_q_len() < 2 || !fields.causal)) return "no row has a masked token";
      break;
    case M::previous_page:
      if (!several_pages) return "no request has a page before the struck one";
      break;
    case M::read_tail:
      if (!partial_page) return "every last page is full";
      break;
    case M::stale_split_output:
    case M::stale_split_lse:
      if (problem.total_q() * fields.heads < 2) return "there is no other row";
      break;
    case M::equal_split_weights:
    case M::no_rescale_of_output:
    case M::no_rescale:
      if (!has_long_split(problem)) return "no split has two blocks";
      break;
    case M::swap_heads:
      if (fields.heads < 2) return "there is one head";
      break;
    case M::swap_queries:
      if (problem.max_q_len() < 2) return "there is one query row a request";
      break;
    case M::scale_query:
      if (!fp8_q) return "q has no scale";
      break;
    case M::scale_keys:
    case M::scale_values:
    case M::ignore_kv_scale:
      if (!fp8_kv) return "kv has no scale";
      break;
    case M::coarse_probabilities:
      if (fp8_q) return "P is e4m3 anyway";
      break;
    case M::truncate_probabilities:
      if (fp8_q) return "P is coarser than bf16 anyway";
      break;
    default: break;
  }
  return {};
}

}  // namespace mla::mutation
