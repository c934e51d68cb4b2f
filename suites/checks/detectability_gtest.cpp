// Predicted signals against those of faults that are really there.
#include "harness/checks/detectability.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/problem/problem.hpp"
#include "reference/error_model.hpp"
#include "suites/checks/checked_case.hpp"

namespace mla::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CheckedCase make(const std::string& word) {
  return CheckedCase(Problem::parse(word).visit([](const DecodeProblem& problem) { return problem.fields(); }));
}

constexpr Precision kBf16{.probabilities = DataType::bf16};

Detectability predicted(const CheckedCase& checked, const Precision& precision = kBf16) {
  return detectability(checked.made.problem, checked.made.views(), checked.oracle(), precision);
}

// The signals of row 0 were `changed` its answer.
Signal actual(const CheckedCase& checked, const reference::DecodeOracle& changed) {
  const reference::RowModel model(checked.oracle(), 0, kBf16, DataType::bf16);
  double hard = 0;
  double square_sum = 0;
  double z_max = 0;
  for (int d = 0; d < kValueDim; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const double change = std::abs(changed.out[i] - checked.oracle().out[i]);
    hard = std::max(hard, change / model.hard_bound(d));
    const double z = change / model.standard_error(d);
    z_max = std::max(z_max, z);
    square_sum += z * z;
  }
  const double lse = std::abs(changed.lse[0] - checked.oracle().lse[0]);
  return {3 * hard, std::max(std::sqrt(square_sum / kValueDim), 3 * z_max / 7),
          3 * lse / reference::lse_bound(checked.oracle(), 0, kBf16), std::nullopt};
}

void expect_near(const Signal& got, const Signal& want, double tolerance) {
  EXPECT_NEAR(*got.hard, *want.hard, tolerance * *want.hard);
  EXPECT_NEAR(*got.stat, *want.stat, tolerance * *want.stat);
  EXPECT_NEAR(*got.lse, *want.lse, tolerance * *want.lse);
}

class Predictions : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Words, Predictions,
                         ::testing::Values("decode:h=1,kv=300", "decode:h=1,kv=2000,dist=sharp", "decode:h=1,kv=2",
                                           "decode:h=1,kv=700,dist=needle,dtype=e4m3fn,page=16"));

TEST_P(Predictions, OfAShiftedMaskAreWhatItDoes) {
  const CheckedCase checked = make(GetParam());
  const Detectability signals = predicted(checked);
  --*checked.made.buffers.kv_last_page_len.as<std::int32_t>();
  const OracleOf shorter(checked.made.views(), checked.made.problem.total_q());
  expect_near(signals.of(SmallFault::mask_shift), actual(checked, shorter.oracle), 1e-6);
}

TEST_P(Predictions, OfAWrongScaleAreWhatItDoes) {
  const CheckedCase checked = make(GetParam());
  const Detectability signals = predicted(checked);
  DecodeInputs views = checked.made.views();
  views.sm_scale *= 1.01F;
  const OracleOf scaled(views, checked.made.problem.total_q());
  // A derivative for a difference of 1 %.
  expect_near(signals.of(SmallFault::scale), actual(checked, scaled.oracle), 0.15);
}

// The statement that a case passed is worth what it could have shown.
TEST(Detectability, IsHonestAboutNearUniformSoftmax) {
  const CheckedCase randn = make("decode:h=16,kv=16384");
  const Signal lost = predicted(randn).of(SmallFault::dropped_token);
  EXPECT_LT(*lost.hard, 3) << "one of 16384 is below what rounding P may do";
  EXPECT_LT(*lost.lse, 3) << "and below the bound of the logits' errors";

  const CheckedCase uniform = make("decode:h=16,kv=4096,dist=uniform");
  EXPECT_THAT(predicted(uniform).hidden(), testing::Contains(SmallFault::scale));
  EXPECT_THAT(hidden_text(predicted(uniform)), HasSubstr("a softmax scale 1 % off would not show: signal "));
  EXPECT_THAT(hidden_text(predicted(uniform)), HasSubstr(" not run in probes, 3 is needed"));
}

TEST(Detectability, ProbesSeeWhatRandomContentsHide) {
  for (const char* word :
       {"decode:h=16,kv=16384", "decode:h=2,kv=4096,dtype=e4m3fn", "decode:h=2,kv=300,dtype=bf16.fp8"}) {
    const DecodeProblem problem(Problem::parse(word).visit([](const DecodeProblem& p) { return p.fields(); }));
    const ProbePattern pattern(problem, DecodeLayout(problem, DataType::e4m3fn));
    const Detectability signals = probe_detectability(problem, pattern, kBf16);
    EXPECT_THAT(signals.hidden(), IsEmpty()) << word;
    EXPECT_GT(*signals.of(SmallFault::dropped_token).probes, 10) << word;
    EXPECT_GT(*signals.of(SmallFault::scale).probes, 10) << word;
  }
}

TEST(Detectability, MergesByTheBestOfEachTier) {
  Detectability a;
  Detectability b;
  a.of(SmallFault::scale) = {1, 2, std::nullopt, std::nullopt};
  b.of(SmallFault::scale) = {0.5, 2.5, 1, std::nullopt};
  a.merge(b);
  EXPECT_EQ(a.of(SmallFault::scale).hard, 1);
  EXPECT_EQ(a.of(SmallFault::scale).stat, 2.5);
  EXPECT_EQ(a.of(SmallFault::scale).best(), 2.5);
  EXPECT_THAT(a.hidden(), ElementsAre(SmallFault::scale)) << "a fault that changes nothing hides nothing";
  b.of(SmallFault::scale).probes = 3;
  a.merge(b);
  EXPECT_THAT(a.hidden(), IsEmpty());
}

TEST(Detectability, AsksNothingWhereNothingIsSeen) {
  const CheckedCase empty = make("decode:h=2,b=2,kv=0");
  EXPECT_THAT(predicted(empty).hidden(), IsEmpty());
  EXPECT_FALSE(predicted(empty).of(SmallFault::dropped_token).best());
}

}  // namespace
}  // namespace mla::harness
