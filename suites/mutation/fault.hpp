// The faults that the mutation tests plant in the emulated kernel: one enumerator a mechanism, one row of the table a
// variant. Numbers M1..M23 follow the families of the table in README ("What is checked").
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/problem/decode_problem.hpp"

namespace mla::mutation {

/// What goes wrong in the kernel.
enum class Mechanism : std::uint8_t {
  none,
  drop_token,              // M1, M23: a token gets no weight
  duplicate_token,         // M2: a token is counted twice
  shift_mask,              // M3: rows see `amount` tokens more (not beyond the context) or fewer
  scale_logits,            // M4: sm_scale times `amount`
  scale_output,            // M5: the output times `amount`, the row sum being right
  scale_row_sum,           // M5: the row sum divided by `amount`: output and lse are both off
  roll_values,             // M6: V is shifted by one token within its block of 64
  previous_page,           // M7: one page is read in place of the next
  unreferenced_page,       // M7: a stale block table: the page was given back
  read_tail,               // M7: the last page is read to its end
  stale_split_output,      // M8: a split's partial output is that of another row
  stale_split_lse,         // M8: its log-sum-exp is
  unwritten_split,         // M8: its partial output is still zero
  equal_split_weights,     // M9: splits are averaged, whatever their weight
  no_rescale_of_output,    // M9: the accumulator is not rescaled when the maximum rises in one block
  no_rescale,              // M9: neither are accumulator and row sum
  empty_split_nan,         // M10: a split without tokens contributes NaN
  empty_split_zero,        // M10: an output of 0 with a log-sum-exp of 0; M23: a sink of logit 0 is just that
  empty_split_one,         // M10: an output of 1 with a log-sum-exp of 0
  wrong_element,           // M11: one element holds its neighbour's value
  swap_heads,              // M12
  swap_queries,            // M12
  ignore_rope,             // M13
  add_rope_twice,          // M13
  scale_query,             // M14: q_scale times `amount`
  scale_keys,              // M14: kv_scale times `amount`, in the logits alone
  scale_values,            // M14: kv_scale times `amount`, in the output alone
  ignore_kv_scale,         // M14: kv_scale taken to be 1
  truncate_output,         // M15: the output is cut to bf16 instead of rounded
  truncate_probabilities,  // M15: P is
  other_row_sum,           // M16: the row sum adds rounded P where float32 is declared
  coarse_probabilities,    // M16: P is rounded to e4m3 where a finer type is declared
  skip_last_row,           // M17: the last row is not written
  write_past_end,          // M18: one byte behind the output
  race,                    // M19: one bit is flipped in one of 8 launches
  cached_answer,           // M20: the first answer is given again whatever the inputs hold
  zero_output,             // M21
  negate_output,           // M22
};

/// Which token a fault strikes, within the context of each request.
enum class Place : std::uint8_t { first, middle, last, page_edge, split_edge };

inline constexpr int kAllHeads = -1;

struct Fault {
  std::string_view name;  // "M1.middle.one-head": family, variant
  std::string_view what;  // in plain words
  Mechanism mechanism = Mechanism::none;
  double amount = 1;
  Place place = Place::middle;
  int head = kAllHeads;
  /// Tiers, as the check names them, of which at least one must catch the fault; joined by '|'.
  std::string_view tiers = "";

  /// Number of the family, 1..23; 0 for the clean kernel.
  [[nodiscard]] int family() const;
};

/// All variants in the order of their families; the clean kernel is not among them.
[[nodiscard]] std::span<const Fault> faults();

/// Why `fault` changes nothing on `problem`, or empty where it bites: no second query token to mask, no fp8 scale.
[[nodiscard]] std::string_view inert_reason(const Fault& fault, const harness::DecodeProblem& problem);

}  // namespace mla::mutation
