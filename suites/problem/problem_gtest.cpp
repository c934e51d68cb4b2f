#include "harness/problem/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "harness/core/error.hpp"
#include "harness/problem/decode_fields.hpp"

namespace mla::harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const std::string& word) {
  try {
    (void)Problem::parse(word);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Problem, DefaultsAreLeftOut) {
  EXPECT_EQ(Problem::parse("decode:").word(), "decode:");
  EXPECT_EQ(Problem::parse("decode").word(), "decode:");
  EXPECT_EQ(Problem::parse("decode:h=16,q=1,b=1,kv=1024,page=64,dtype=bf16,causal=1").word(), "decode:");
  EXPECT_EQ(Problem::parse("decode:dtype=fp8,qs=0.0225").word(), "decode:dtype=fp8");
  EXPECT_EQ(Problem::parse("decode:dtype=fp8,qs=1").word(), "decode:dtype=fp8,qs=1");
}

TEST(Problem, OrderOfFieldsDoesNotMatter) {
  EXPECT_EQ(Problem::parse("decode:ks=2,dtype=bf16.fp8,b=4"), Problem::parse("decode:b=4,dtype=bf16.fp8,ks=2"));
}

TEST(Problem, ListsGiveTheBatchAndCollapse) {
  EXPECT_EQ(Problem::parse("decode:kv=8192+1+17+64").word(), "decode:b=4,kv=8192+1+17+64");
  EXPECT_EQ(Problem::parse("decode:kv=7+7+7").word(), "decode:b=3,kv=7");
  EXPECT_EQ(Problem::parse("decode:kv=5+5+5+9").word(), "decode:b=4,kv=3x5+9");
  EXPECT_EQ(Problem::parse("decode:q=4+4+1,kv=100").word(), "decode:q=2x4+1,b=3,kv=100");
}

TEST(Problem, DerivedSizes) {
  Problem::parse("decode:q=4+0+1,kv=64+0+65,page=64").visit([](const DecodeProblem& decode) {
    EXPECT_EQ(decode.batch(), 3);
    EXPECT_EQ(decode.total_q(), 5);
    EXPECT_EQ(decode.total_kv(), 129);
    EXPECT_EQ(decode.total_pages(), 3);
    EXPECT_EQ(decode.max_q_len(), 4);
    EXPECT_EQ(decode.kv_pages(2), 2);
  });
}

// Draws a random valid problem, touching every field.
DecodeProblem::Fields draw(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  constexpr ElementType kTypes[][2] = {
      {ElementType::bf16, ElementType::bf16},     {ElementType::bf16, ElementType::fp8},
      {ElementType::fp8, ElementType::fp8},       {ElementType::bf16, ElementType::e4m3fn},
      {ElementType::e4m3fn, ElementType::e4m3fn}, {ElementType::e4m3fnuz, ElementType::e4m3fnuz}};
  const auto& types = kTypes[below(std::size(kTypes))];
  DecodeProblem::Fields fields = default_decode_fields(types[0], types[1]);
  const auto scale = [&] { return std::exp2(static_cast<double>(below(39000)) / 1000.0 - 20.0); };
  const auto maybe = [&] { return below(2) == 0; };
  if (maybe()) fields.heads = 1 + static_cast<int>(below(128));
  if (maybe()) fields.batch = 1 + static_cast<int>(below(9));
  const auto list = [&](std::int64_t values) {
    std::vector<std::int64_t> out(maybe() ? 1U : static_cast<std::size_t>(fields.batch));
    for (auto& value : out) value = below(static_cast<std::uint64_t>(values));
    return out;
  };
  if (maybe()) fields.q_lens = list(9);
  if (maybe()) fields.kv_lens = list(300);
  if (maybe()) fields.page_size = 1 << below(9);
  if (maybe()) fields.causal = false;
  if (maybe()) fields.sm_scale = scale();
  if (maybe() && fields.q_type != ElementType::bf16) fields.q_scale = scale();
  if (maybe() && fields.kv_type != ElementType::bf16) fields.kv_scale = scale();
  if (maybe()) fields.distribution = static_cast<Distribution>(below(3));
  if (maybe()) fields.seed = random();
  if (maybe()) fields.workers = static_cast<int>(below(305));
  if (maybe()) fields.split_limit = static_cast<int>(below(65));
  if (maybe()) fields.layout = Layout::padded;
  if (maybe()) fields.pool_pages = 5000 + below(1000000);
  return fields;
}

TEST(Problem, PrintAndParseRoundTrip) {
  std::mt19937_64 random(20261201);
  for (int i = 0; i < 20000; ++i) {
    const Problem problem{DecodeProblem(draw(random))};
    const std::string word = problem.word();
    ASSERT_EQ(Problem::parse(word), problem) << word;
    ASSERT_EQ(Problem::parse(word).word(), word);
    ASSERT_EQ(word.find_first_of(" \t\n'\"\\*?[]{}$&|;<>()~#!`"), std::string::npos) << word;
  }
}

TEST(Problem, EveryFieldHasHelp) {
  EXPECT_EQ(Problem::fields(Operation::decode).size(), decode_fields().size());
  for (const FieldHelp& help : Problem::fields(Operation::decode)) {
    EXPECT_FALSE(help.meaning.empty()) << help.name;
    EXPECT_FALSE(help.values.empty()) << help.name;
  }
}

struct Malformed {
  std::string word;
  std::string names;  // what the message must name
};

class MalformedProblem : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedProblem, IsRefusedInOneLine) {
  const std::string error = error_of(GetParam().word);
  EXPECT_THAT(error, AllOf(HasSubstr(GetParam().names), Not(HasSubstr("\n")), Not(HasSubstr("(accepted)"))));
  EXPECT_LT(error.size(), 400U);
}

INSTANTIATE_TEST_SUITE_P(
    Words, MalformedProblem,
    ::testing::Values(
        Malformed{"", "problem"}, Malformed{"decod", "problem"}, Malformed{"prefill:h=16", "problem"},
        Malformed{":h=16", "problem"}, Malformed{"decode:h", "field=value"}, Malformed{"decode:=1", "field=value"},
        Malformed{"decode:h=", "h = ''"}, Malformed{"decode:h=0", "h = '0'"}, Malformed{"decode:h=129", "h = '129'"},
        Malformed{"decode:h=-16", "h = '-16'"}, Malformed{"decode:h=1e2", "h = '1e2'"},
        Malformed{"decode:h=99999999999999999999", "h = '9999"}, Malformed{"decode:h= 16", "h = ' 16'"},
        Malformed{"decode:h=16,h=16", "given twice"}, Malformed{"decode:h=16,", "follows the last"},
        Malformed{"decode:h=16,,b=1", "field=value"}, Malformed{"decode:heads=16", "heads"},
        Malformed{"decode:q=9", "q = '9'"}, Malformed{"decode:q=-1", "q = '-1'"},
        Malformed{"decode:q=1+9,kv=4", "q = '9'"}, Malformed{"decode:kv=", "kv = ''"},
        Malformed{"decode:kv=1+", "kv = ''"}, Malformed{"decode:kv=1++2", "kv = ''"},
        Malformed{"decode:kv=4194305", "kv = '4194305'"}, Malformed{"decode:kv=0x5", "kv = '0'"},
        Malformed{"decode:kv=70000x5", "kv = '70000'"}, Malformed{"decode:kv=65536x5+1", "at most 65536"},
        Malformed{"decode:b=0", "b = '0'"}, Malformed{"decode:b=2,kv=1+2+3", "b=2"},
        Malformed{"decode:q=1+2,kv=1+2+3", "b=3"}, Malformed{"decode:page=48", "page = '48'"},
        Malformed{"decode:page=512", "page = '512'"}, Malformed{"decode:page=0", "page = '0'"},
        Malformed{"decode:dtype=fp16", "dtype = 'fp16'"}, Malformed{"decode:dtype=fp8.bf16", "dtype"},
        Malformed{"decode:dtype=e4m3fn.e4m3fnuz", "dtype"}, Malformed{"decode:causal=yes", "causal = 'yes'"},
        Malformed{"decode:scale=0", "scale = '0'"}, Malformed{"decode:scale=-1", "scale = '-1'"},
        Malformed{"decode:scale=nan", "scale = 'nan'"}, Malformed{"decode:scale=inf", "scale = 'inf'"},
        Malformed{"decode:scale=1e999", "scale"}, Malformed{"decode:scale=1e-300", "scale"},
        Malformed{"decode:ks=2", "ks = '2'"}, Malformed{"decode:dtype=bf16.fp8,qs=2", "qs = '2'"},
        Malformed{"decode:seed=-1", "seed = '-1'"}, Malformed{"decode:seed=18446744073709551616", "seed"},
        Malformed{"decode:cu=4097", "cu = '4097'"}, Malformed{"decode:splits=-2", "splits = '-2'"},
        Malformed{"decode:stride=odd", "stride = 'odd'"}, Malformed{"decode:dist=cauchy", "dist = 'cauchy'"},
        Malformed{"decode:pool=16", "pool = '16'"}, Malformed{"decode:pool=4294967296", "pool"},
        Malformed{"decode:page=1,b=65536,kv=4194304", "2^31"}, Malformed{"decode:h=1\n6", "h = '1?6'"},
        Malformed{std::string("decode:h=\0", 10), "h = '?'"}, Malformed{std::string(2 << 20, 'x'), "characters"},
        Malformed{"decode:kv=" + std::string(200000, '1'), "kv"}));

}  // namespace
}  // namespace mla::harness
