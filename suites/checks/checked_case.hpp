// A decode problem with its inputs, its oracle and outputs that hold the oracle's own result, rounded: what a perfect
// kernel leaves behind. Tests then spoil one thing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "harness/checks/check_decode.hpp"
#include "suites/inputs/made_inputs.hpp"

namespace mla::harness {

/// The oracle of `views`, in memory of its own.
class OracleOf {
 public:
  OracleOf(const DecodeInputs& views, std::int64_t tokens)
      : arena_(Arena::create(Arena::footprint(reference::DecodeOracle::bytes(tokens, views.heads)))),
        oracle(reference::DecodeOracle::over(
            arena_.take("oracle", reference::DecodeOracle::bytes(tokens, views.heads)).data(), tokens, views.heads)) {
    reference::decode(views, oracle);
  }

 private:
  Arena arena_;

 public:
  reference::DecodeOracle oracle;
};

class CheckedCase {
 public:
  explicit CheckedCase(Fields fields)
      : made(std::move(fields)),
        reference_(made.views(), made.problem.total_q()),
        arena_(Arena::create(made.layout.output_bytes())),
        outputs(made.layout.take_outputs(arena_)) {
    poison_outputs(outputs);
    write(oracle());
  }

  [[nodiscard]] const reference::DecodeOracle& oracle() const { return reference_.oracle; }
  [[nodiscard]] int heads() const { return made.problem.fields().heads; }
  [[nodiscard]] std::int64_t rows() const { return oracle().rows; }

  /// Row `row` = token * H + head of the outputs.
  [[nodiscard]] Bfloat16* out(std::int64_t row) const {
    const OutputView view = made.layout.bind(outputs).out;
    return static_cast<Bfloat16*>(view.data) + row / heads() * view.token_stride + row % heads() * view.head_stride;
  }
  [[nodiscard]] float& lse(std::int64_t row) const {
    const LseView view = made.layout.bind(outputs).lse;
    return view.data[row / heads() * view.token_stride + row % heads() * view.head_stride];
  }

  /// Writes another result, rounded to the types of the outputs.
  void write(const reference::DecodeOracle& result) const {
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (int dim = 0; dim < kValueDim; ++dim) {
        const double value = result.out[static_cast<std::size_t>(row * kValueDim + dim)];
        out(row)[dim] = Bfloat16::from_float(static_cast<float>(value));
      }
      lse(row) = static_cast<float>(result.lse[static_cast<std::size_t>(row)]);
    }
  }
  /// Writes what a kernel gives that was called with other arguments, or reads its inputs wrongly.
  void write_result_of(const DecodeInputs& views) const { write(OracleOf(views, made.problem.total_q()).oracle); }

  [[nodiscard]] DecodeCheck check(const Precision& precision = {}) const {
    return check_decode(made.problem, made.layout, oracle(), outputs, precision);
  }

  MadeInputs made;

 private:
  OracleOf reference_;
  Arena arena_;

 public:
  DecodeOutputBuffers outputs;
};

}  // namespace mla::harness
