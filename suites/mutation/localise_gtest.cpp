// What a fault looks like must be said of the fault that was planted: where it is, what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>

#include "suites/mutation/emulated_provider.hpp"
#include "suites/mutation/mutation_case.hpp"

namespace mla::mutation {
namespace {

using ::testing::HasSubstr;

const Fault& fault_named(std::string_view name) {
  for (const Fault& fault : faults()) {
    if (fault.name == name) return fault;
  }
  throw std::out_of_range("no such fault");
}

struct Expectation {
  std::string word;
  std::string fault;
  std::string kind;
  std::vector<std::string> words;  // all of which the message holds
};

void PrintTo(const Expectation& expectation, std::ostream* out) {
  *out << expectation.fault << " on " << expectation.word;
}

class Localise : public ::testing::TestWithParam<Expectation> {};

TEST_P(Localise, NamesTheFault) {
  const MutationCase mutated(GetParam().word);
  (void)mutated.run(fault_named(GetParam().fault));
  const auto locus = mutated.locus();
  ASSERT_TRUE(locus.has_value());
  EXPECT_EQ(locus->kind, GetParam().kind) << locus->message;
  for (const std::string& part : GetParam().words) EXPECT_THAT(locus->message, HasSubstr(part));
  RecordProperty("message", locus->message);
}

const std::string kLong = "decode:h=64,kv=4096";

INSTANTIATE_TEST_SUITE_P(
    Faults, Localise,
    ::testing::Values(
        // One token of 4096 in one head of 64.
        Expectation{kLong,
                    "M1.middle.one-head",
                    "token",
                    {"head 5 of 64 alone", "token 2048 of 4096 (page 32, slot 0) has no weight", "lse agrees"}},
        Expectation{kLong, "M1.last", "mask", {"of 64 heads", "the last token that a row sees has no weight"}},
        Expectation{kLong, "M2.middle", "token", {"token 2048 of 4096", "is counted twice"}},
        Expectation{kLong, "M4.high", "softmax_scale", {"the logits are 1.01"}},
        Expectation{kLong, "M4.width", "softmax_scale", {"the logits are 0.577"}},
        Expectation{kLong, "M5.output", "gain", {"1.01", "normalisation"}},
        Expectation{kLong, "M5.row-sum", "gain", {"1.01", "the row sum is wrong"}},
        Expectation{"decode:h=64,kv=4090", "M7.tail", "tail_read", {"the last page has an unused tail"}},
        Expectation{"decode:h=16,b=2,kv=1000+640", "M7.tail", "tail_read", {"request 0 of 2 alone"}},
        Expectation{kLong, "M7.stale", "nonfinite", {"an unreferenced page"}},
        Expectation{kLong, "M7.previous", "page", {"page 32 (tokens 2048 to 2111 of 4096)", "page 31"}},
        Expectation{kLong, "M8.output", "range", {"head 5 of 64 alone", "tokens 2048 to 3071 of 4096"}},
        Expectation{kLong,
                    "M8.unwritten",
                    "range",
                    {"head 5 of 64 alone", "the output lacks what tokens 2048 to 3071 of 4096 contribute"}},
        Expectation{"decode:h=16,kv=1000,dtype=bf16.fp8", "M14.ignored", "kv_scale", {"kv_scale is ignored"}},
        Expectation{"decode:h=16,kv=1000,dtype=fp8", "M14.ignored", "kv_scale", {"kv_scale is ignored"}},
        Expectation{"decode:h=16,kv=1000", "M13.ignored", "rope", {"is ignored"}},
        Expectation{"decode:h=16,kv=1000", "M13.twice", "rope", {"counted twice"}},
        Expectation{"decode:h=4,q=4,kv=500", "M3.none", "mask", {"the causal mask is missing"}},
        Expectation{"decode:h=4,q=4,kv=500", "M3.plus", "mask", {"past the last that a row may see", "is not masked"}},
        Expectation{"decode:h=4,q=4,kv=500", "M3.minus", "mask", {"the last token that a row sees has no weight"}},
        Expectation{"decode:h=16,kv=1000", "M6", "value_shift", {"V is one token ahead"}},
        Expectation{"decode:h=16,kv=1000", "M11", "element", {"dim 100 alone is wrong", "head 5 of 16 alone"}},
        Expectation{"decode:h=16,kv=1000", "M12.heads", "other_row", {"heads 0, 1 of 16 alone", "holds the result of"}},
        Expectation{"decode:h=16,q=2,kv=1000",
                    "M17",
                    "unwritten",
                    {"1 whole row is not written", "query row 1 of 2, head 15 of 16"}},
        Expectation{"decode:h=16,kv=1000", "M21", "zero", {"the output is zero"}},
        Expectation{"decode:h=16,kv=1000", "M22", "sign", {"wrong sign"}}),
    [](const auto& param) {
      std::string name = param.param.fault + "_" + param.param.word.substr(7);
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(Localise, SaysNothingOfASoundKernel) {
  const MutationCase mutated("decode:h=8,q=2,kv=300");
  (void)mutated.run(clean());
  EXPECT_FALSE(mutated.locus().has_value());
}

}  // namespace
}  // namespace mla::mutation
