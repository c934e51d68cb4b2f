// The acceptance rules of public test suites, written from their descriptions, to be run on the same faults as ours.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "suites/mutation/mutation_case.hpp"

namespace mla::mutation {

/// A result next to what it is compared with.
struct Compared {
  std::vector<double> out;             // [rows, 512]
  std::vector<double> ref;             // [rows, 512]
  std::vector<double> lse;             // [rows]
  std::vector<double> ref_lse;         // [rows]
  std::vector<double> same_precision;  // [rows, 512] a plain implementation in the kernel's own precision
  bool fp8 = false;                    // q is
};

struct ForeignRule {
  std::string_view name;
  std::string_view source;  // where it stands
  bool (*accepts)(const Compared& compared);
};

/// FlashMLA, aiter, FlashInfer (its rules for bf16 and for fp16) and FlashAttention.
[[nodiscard]] std::span<const ForeignRule> foreign_rules();

/// Attention as a framework computes it without a fused kernel: softmax in float32, normalised, rounded to bf16;
/// product in float32, rounded to bf16.
[[nodiscard]] std::vector<double> plain_attention(const DecodeInputs& inputs);

/// The last result of `mutated` next to its oracle; `same_precision` is made once by the caller.
[[nodiscard]] Compared compared(const MutationCase& mutated, std::vector<double> same_precision);

}  // namespace mla::mutation
