// Every built-in provider against the definition, on shapes that reach each of its code paths. All memory that must not
// be read holds NaN, so a stray read shows in the values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "harness/providers/registry.hpp"
#include "suites/providers/decode_case.hpp"

namespace mla::test {
namespace {

struct Param {
  std::string provider;
  std::string word;
};

std::vector<Param> params() {
  const std::vector<std::string> words = {
      // Element types and encodings.
      "decode:h=4,b=2,kv=100",
      "decode:h=4,b=2,kv=100,dtype=bf16.fp8",
      "decode:h=4,b=2,kv=100,dtype=fp8",
      "decode:h=4,b=2,kv=100,dtype=e4m3fnuz",
      "decode:h=4,b=2,kv=100,dtype=bf16.e4m3fnuz,ks=0.5",
      "decode:h=4,b=2,kv=100,dtype=fp8,qs=0.01,ks=0.03,scale=0.05",
      // Page sizes.
      "decode:h=2,b=2,kv=70+33,page=1",
      "decode:h=2,b=2,kv=70+33,page=16",
      "decode:h=2,b=2,kv=300+257,page=256",
      // Head counts on both sides of the widths of row tiles.
      "decode:h=1,kv=65",
      "decode:h=7,kv=65",
      "decode:h=9,kv=65",
      "decode:h=17,kv=65",
      "decode:h=128,kv=50",
      // More rows than one work takes.
      "decode:h=100,q=3,kv=50",
      // Several query tokens, masked and not, ragged and mixed.
      "decode:h=3,q=4,kv=100",
      "decode:h=3,q=4,kv=100,causal=0",
      "decode:h=3,b=4,q=1+8+3+2,kv=50+96+97+8",
      // Rows that see nothing; requests without queries or tokens.
      "decode:h=3,b=3,q=1+2+4,kv=0+70+0",
      "decode:h=3,b=2,q=8+4,kv=3+2",
      "decode:h=3,b=2,q=8+4,kv=3+2,causal=0",
      "decode:h=3,b=3,q=0+2+0,kv=40+41+0",
      // Splits whose first rows, but not their last, see nothing of the final tile.
      "decode:h=2,q=8,kv=484",
      // Strides, and a distribution with one dominating token.
      "decode:h=5,b=2,q=2,kv=100+31,stride=padded",
      "decode:h=5,b=2,q=2,kv=100+31,stride=padded,dtype=fp8",
      "decode:h=4,b=2,kv=600,dist=needle",
      "decode:h=4,b=2,kv=600,dist=sharp",
  };
  std::vector<Param> all;
  for (const auto& provider : harness::builtin_providers()) {
    // The bounds of this test are those of float32 probabilities, which the kernels' providers do not claim.
    if (provider->device() != "cpu" || !provider->runs_by_default()) continue;
    for (const std::string& word : words) all.push_back({std::string(provider->name()), word});
  }
  return all;
}

std::unique_ptr<harness::Provider> provider_named(std::string_view name) {
  for (auto& provider : harness::builtin_providers()) {
    if (provider->name() == name) return std::move(provider);
  }
  return nullptr;
}

class ProviderDecode : public testing::TestWithParam<Param> {};

TEST_P(ProviderDecode, MatchesTheDefinition) {
  const auto provider = provider_named(GetParam().provider);
  const DecodeFixture fixture(GetParam().word);
  ASSERT_TRUE(provider->supports(fixture.as_case().problem).ok());
  fixture.run(*provider);
  expect_matches_definition(fixture);
}

std::string name_of_param(const testing::TestParamInfo<Param>& info) {
  std::string name = info.param.provider + "_" + info.param.word.substr(sizeof("decode:") - 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ProviderDecode, testing::ValuesIn(params()), name_of_param);

}  // namespace
}  // namespace mla::test
