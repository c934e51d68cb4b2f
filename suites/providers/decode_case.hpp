// A decode problem with its filled inputs and poisoned outputs, ready for a provider.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/problem.hpp"
#include "harness/providers/provider.hpp"

namespace mla::test {

class DecodeFixture {
 public:
  explicit DecodeFixture(std::string_view word);

  [[nodiscard]] harness::DecodeCase as_case() const { return {problem_, layout_, inputs_, outputs_}; }
  [[nodiscard]] DecodeInputs inputs() const { return layout_.bind(inputs_); }
  [[nodiscard]] DecodeOutputs outputs() const { return layout_.bind(outputs_); }
  void poison() const { harness::poison_outputs(outputs_); }
  /// Poisons the outputs and runs the provider once.
  void run(const harness::Provider& provider) const;
  /// Bytes of out and lse, for bitwise comparisons.
  [[nodiscard]] std::vector<std::byte> output_bytes() const;
  /// True if no canary around any buffer has changed.
  [[nodiscard]] bool canaries_intact() const;

 private:
  harness::DecodeProblem problem_;
  harness::DecodeLayout layout_;
  harness::Arena input_arena_;
  harness::Arena output_arena_;
  harness::DecodeInputBuffers inputs_;
  harness::DecodeOutputBuffers outputs_;
};

/// Fails the running test where the outputs differ from the definition by more than float32 arithmetic and the
/// rounding of the output explain.
void expect_matches_definition(const DecodeFixture& fixture);

}  // namespace mla::test
