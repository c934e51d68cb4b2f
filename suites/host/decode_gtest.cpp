// The GPU kernels' source, executed lane by lane: right values, the same bits in any order of the lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/providers/host/provider.hpp"
#include "suites/providers/decode_case.hpp"
#include "suites/providers/naive_decode.hpp"

namespace mla::test {
namespace {

std::unique_ptr<harness::Provider> host(std::uint64_t seed) {
  return harness::make_host_provider({.seed = seed, .threads = 2});
}

// P is rounded to bf16, which moves a weighted mean by at most 2^-8 of the mean magnitude; the output is rounded once
// more. Float32 arithmetic is far below.
void expect_close(const DecodeFixture& fixture) {
  const DecodeOutputs outputs = fixture.outputs();
  const DecodeInputs inputs = fixture.inputs();
  const NaiveResult expected = naive_decode(inputs);
  std::size_t row = 0;
  for (std::int64_t token = 0; token < inputs.batch.qo_indptr[inputs.batch.batch]; ++token) {
    for (std::int64_t head = 0; head < inputs.heads; ++head, ++row) {
      const auto lse =
          static_cast<double>(outputs.lse.data[token * outputs.lse.token_stride + head * outputs.lse.head_stride]);
      if (std::isinf(expected.lse[row])) {
        ASSERT_EQ(lse, expected.lse[row]) << "token " << token << " head " << head;
      } else {
        ASSERT_NEAR(lse, expected.lse[row], 3e-5) << "token " << token << " head " << head;
      }
      const auto* out = static_cast<const Bfloat16*>(outputs.out.data) + token * outputs.out.token_stride +
                        head * outputs.out.head_stride;
      for (int d = 0; d < kValueDim; ++d) {
        const std::size_t at = row * kValueDim + static_cast<std::size_t>(d);
        const double slack = unit_roundoff(DataType::bf16) * expected.abs_sum[at];
        const double bound = 1.01 * slack + unit_roundoff(DataType::bf16) * std::abs(expected.out[at]);
        ASSERT_LE(std::abs(static_cast<double>(out[d].to_float()) - expected.out[at]), bound)
            << "token " << token << " head " << head << " dimension " << d;
      }
    }
  }
  EXPECT_TRUE(fixture.canaries_intact());
}

class HostDecode : public testing::TestWithParam<std::string> {};

TEST_P(HostDecode, MatchesTheDefinition) {
  const DecodeFixture fixture(GetParam());
  fixture.run(*host(1));
  expect_close(fixture);
}

INSTANTIATE_TEST_SUITE_P(
    Words, HostDecode,
    testing::Values(
        // Element types: gfx950's kernels, and gfx942's for e4m3fnuz.
        "decode:h=16,b=2,kv=100", "decode:h=16,b=2,kv=100,dtype=bf16.fp8", "decode:h=16,b=2,kv=100,dtype=fp8",
        "decode:h=16,b=2,kv=100,dtype=e4m3fnuz", "decode:h=16,b=2,kv=100,dtype=bf16.e4m3fnuz,ks=0.5",
        // Tiles of 16, 32, 64 rows, several tiles, heads that fill none.
        "decode:h=1,kv=65", "decode:h=7,kv=33", "decode:h=17,kv=65", "decode:h=40,kv=65", "decode:h=128,kv=50",
        "decode:h=64,kv=70,dtype=fp8", "decode:h=64,kv=70,dtype=bf16.fp8", "decode:h=48,kv=70,dtype=e4m3fnuz",
        // Pages, strides, several query tokens, masks.
        "decode:h=2,b=2,kv=70+33,page=1", "decode:h=2,b=2,kv=300+257,page=256",
        "decode:h=5,b=2,q=2,kv=100+31,stride=padded", "decode:h=5,b=2,q=2,kv=100+31,stride=padded,dtype=fp8",
        "decode:h=3,b=4,q=1+8+3+2,kv=50+96+97+8", "decode:h=3,q=4,kv=100,causal=0",
        // Nothing to see, nothing to do.
        "decode:h=3,b=3,q=1+2+4,kv=0+70+0", "decode:h=3,b=2,q=8+4,kv=3+2", "decode:h=3,b=3,q=0+2+0,kv=40+41+0",
        // Splits and their merge; works of one tile each, one worker for all.
        "decode:h=16,kv=1500", "decode:h=16,q=2,b=2,kv=700,cu=5", "decode:h=16,b=9,kv=5,cu=1",
        "decode:h=4,b=2,kv=600,dist=needle", "decode:h=4,b=2,kv=600,dist=sharp,dtype=fp8"));

TEST(HostDecode, LeavesOutWhatWouldTakeForEver) {
  const auto supports = [](int batch) {
    harness::DecodeProblem::Fields fields;
    fields.heads = 1;
    fields.batch = batch;
    return host(0)->supports(harness::DecodeProblem(fields));
  };
  EXPECT_TRUE(supports(harness::kMostHostRequests).ok());
  const harness::Support refused = supports(harness::kMostHostRequests + 1);
  EXPECT_EQ(refused.reason, harness::SkipReason::unsupported_shape);
  EXPECT_THAT(refused.detail, testing::HasSubstr("more than 16384 requests"));
}

TEST(HostDecode, TwentyOrdersOfTheLanesGiveTheSameBits) {
  for (const char* word : {"decode:h=16,b=2,kv=300+77,cu=5", "decode:h=20,b=1,kv=260,dtype=fp8,cu=3"}) {
    const DecodeFixture fixture(word);
    fixture.run(*host(0));
    const std::vector<std::byte> first = fixture.output_bytes();
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      fixture.run(*host(seed));
      ASSERT_EQ(fixture.output_bytes(), first) << word << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace mla::test
