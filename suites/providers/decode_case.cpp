#include "suites/providers/decode_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "suites/providers/naive_decode.hpp"

namespace mla::test {

namespace {

harness::DecodeProblem parse(std::string_view word) {
  return harness::Problem::parse(word).visit([](const harness::DecodeProblem& decode) { return decode; });
}

// Errors of the logits (sums of 576 products, whose magnitudes here stay below 100 / 2^-24 ulp), of exp and of sums of
// up to a few thousand terms, relative to the sum of magnitudes; then one rounding to bf16.
constexpr double kFloat32Bound = 3e-5;
constexpr double kBf16 = unit_roundoff(DataType::bf16);

}  // namespace

DecodeFixture::DecodeFixture(std::string_view word)
    : problem_(parse(word)),
      layout_(problem_, DataType::e4m3fn),
      input_arena_(harness::Arena::create(layout_.input_bytes())),
      output_arena_(harness::Arena::create(layout_.output_bytes())),
      inputs_(layout_.take_inputs(input_arena_)),
      outputs_(layout_.take_outputs(output_arena_)) {
  harness::fill_inputs(problem_, layout_, inputs_);
  poison();
}

void DecodeFixture::run(const harness::Provider& provider) const {
  poison();
  const auto execution = provider.prepare(as_case());
  execution->run();
  execution->fetch();
}

std::vector<std::byte> DecodeFixture::output_bytes() const {
  std::vector<std::byte> bytes;
  for (const harness::Buffer& buffer : {outputs_.out, outputs_.lse}) {
    const auto data = buffer.data();
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
  return bytes;
}

bool DecodeFixture::canaries_intact() const {
  const auto intact = [](const harness::Buffer& buffer) { return !harness::check_canary(buffer).damaged; };
  return intact(outputs_.out) && intact(outputs_.lse) && intact(inputs_.q) && intact(inputs_.kv);
}

void expect_matches_definition(const DecodeFixture& fixture) {
  const DecodeInputs inputs = fixture.inputs();
  const DecodeOutputs outputs = fixture.outputs();
  const NaiveResult expected = naive_decode(inputs);
  const std::int64_t tokens = inputs.batch.qo_indptr[inputs.batch.batch];
  std::size_t row = 0;
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t head = 0; head < inputs.heads; ++head, ++row) {
      const double lse =
          static_cast<double>(outputs.lse.data[token * outputs.lse.token_stride + head * outputs.lse.head_stride]);
      if (std::isinf(expected.lse[row])) {
        EXPECT_EQ(lse, expected.lse[row]) << "token " << token << " head " << head;
      } else {
        EXPECT_NEAR(lse, expected.lse[row], kFloat32Bound) << "token " << token << " head " << head;
      }
      const auto* out = static_cast<const Bfloat16*>(outputs.out.data) + token * outputs.out.token_stride +
                        head * outputs.out.head_stride;
      for (int d = 0; d < kValueDim; ++d) {
        const std::size_t at = row * kValueDim + static_cast<std::size_t>(d);
        const double slack = kFloat32Bound * expected.abs_sum[at];
        const double bound = slack + kBf16 * (std::abs(expected.out[at]) + slack);
        ASSERT_LE(std::abs(static_cast<double>(out[d].to_float()) - expected.out[at]), bound)
            << "token " << token << " head " << head << " dimension " << d << ": got " << out[d].to_float()
            << ", expected " << expected.out[at];
      }
    }
  }
  EXPECT_TRUE(fixture.canaries_intact());
}

}  // namespace mla::test
