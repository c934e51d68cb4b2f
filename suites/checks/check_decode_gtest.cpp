#include "harness/checks/check_decode.hpp"

#include <omp.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/problem/problem.hpp"
#include "suites/checks/checked_case.hpp"

namespace mla::harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

CheckedCase make(const std::string& word) {
  return CheckedCase(Problem::parse(word).visit([](const DecodeProblem& problem) { return problem.fields(); }));
}

TierVerdict verdict_of(const DecodeCheck& check, std::string_view tier) {
  for (const TierResult& result : check.tiers) {
    if (result.name == tier) return result.verdict;
  }
  throw std::out_of_range("no such tier");
}

// Tier by tier: which of them noticed. What a bound notices, tier S may or may not.
MATCHER_P2(Fails, hard, lse, "") {
  *result_listener << arg.message();
  const bool stat = verdict_of(arg, "stat") == TierVerdict::failed;
  return (verdict_of(arg, "hard") == TierVerdict::failed) == hard &&
         (verdict_of(arg, "lse") == TierVerdict::failed) == lse && arg.passed() == !(hard || lse || stat);
}
// Tier S alone noticed.
MATCHER(FailsInSpreadAlone, "") {
  *result_listener << arg.message();
  return verdict_of(arg, "hard") == TierVerdict::passed && verdict_of(arg, "lse") == TierVerdict::passed &&
         verdict_of(arg, "stat") == TierVerdict::failed && !arg.passed();
}
MATCHER_P(SaysFirst, kind, "") {
  *result_listener << arg.failure_kind() << ": " << arg.message();
  return arg.failure_kind() == kind;
}

class CleanKernel : public ::testing::TestWithParam<std::string> {};

TEST_P(CleanKernel, PassesWithAnyDeclaration) {
  const CheckedCase clean = make(GetParam());
  for (const DataType probabilities : {DataType::f32, DataType::bf16, DataType::e4m3fn}) {
    const DecodeCheck check = clean.check({.probabilities = probabilities});
    EXPECT_TRUE(check.passed()) << check.message();
    EXPECT_EQ(check.message(), "");
    EXPECT_EQ(check.failure_kind(), "");
    EXPECT_THAT(check.tiers,
                Each(AllOf(Field(&TierResult::verdict, TierVerdict::passed), Field(&TierResult::max_ratio, Le(1)))));
    EXPECT_EQ(check.nonfinite_got, check.nonfinite_ref);
    EXPECT_EQ(check.poison_left, 0);
    EXPECT_EQ(check.canary, "ok");
    EXPECT_EQ(check.rows, clean.rows());
    EXPECT_EQ(check.elements, clean.rows() * kValueDim);
    // A bf16 result has a relative error of 2^-9 at most, element by element and so in the norm.
    EXPECT_LE(check.rel_l2, 0x1p-8);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, CleanKernel,
    ::testing::Values("decode:kv=1", "decode:h=1,kv=65", "decode:h=3,b=4,q=2,kv=8+1+17+64", "decode:dist=sharp,kv=600",
                      "decode:dist=needle,q=4,kv=777", "decode:h=5,b=2,q=3,kv=2+0", "decode:b=2,q=0,kv=9",
                      "decode:b=3,q=8+0+1,kv=3+4+0,causal=0", "decode:dtype=bf16.e4m3fn,dist=needle,kv=300",
                      "decode:dtype=e4m3fnuz,kv=100,dist=sharp", "decode:stride=padded,h=7,q=2,kv=130",
                      "decode:dtype=e4m3fn,stride=padded,page=1,kv=33,ks=3.5"));

class Fault : public ::testing::Test {
 protected:
  // Rows of request 1 (16 tokens of context, two query tokens) start at token 1.
  CheckedCase case_ = make("decode:h=4,b=2,q=1+2,kv=500+16,dist=needle,seed=3");
  static constexpr std::int64_t kRow = 1 * 4 + 3;  // request 1, token 1, head 3
};

TEST_F(Fault, OneWrongElement) {
  Bfloat16& element = case_.out(kRow)[100];
  element = Bfloat16::from_float(element.to_float() + 0.5F);
  const DecodeCheck check = case_.check();
  EXPECT_THAT(check, Fails(true, false));
  EXPECT_THAT(check, SaysFirst("hard_bound"));
  EXPECT_THAT(check.message(), AllOf(StartsWith("hard bound exceeded "), HasSubstr("x at request 1, token 1, head 3"),
                                     HasSubstr("dim 100: got "), HasSubstr("; 1 of 12 rows affected")));
  EXPECT_NEAR(check.abs_max, 0.5, 0.01);
  const WorstElement& worst = check.worst.front();
  EXPECT_EQ(worst.tier, "hard");
  EXPECT_EQ(worst.request, 1);
  EXPECT_EQ(worst.token, 1);
  EXPECT_EQ(worst.head, 3);
  EXPECT_EQ(worst.dim, 100);
  EXPECT_NEAR(*worst.got - worst.ref, 0.5, 0.01);
  EXPECT_GT(worst.ratio, 1);
}

TEST_F(Fault, NanElement) {
  case_.out(kRow)[5] = Bfloat16{0x7fc0};
  const DecodeCheck check = case_.check();
  EXPECT_THAT(check, Fails(true, false));
  EXPECT_THAT(check, SaysFirst("nonfinite"));
  EXPECT_THAT(check.message(), HasSubstr("`out` is nan at request 1, token 1, head 3, dim 5, reference "));
  EXPECT_EQ(check.nonfinite_got, 1);
  EXPECT_EQ(check.nonfinite_ref, 0);
  EXPECT_EQ(check.worst.front().ratio, kInfinity);
}

TEST_F(Fault, InfiniteLse) {
  case_.lse(kRow) = -std::numeric_limits<float>::infinity();
  const DecodeCheck check = case_.check();
  EXPECT_THAT(check, Fails(false, true));
  EXPECT_THAT(check.message(), HasSubstr("`lse` is -inf at request 1, token 1, head 3, reference "));
}

TEST_F(Fault, NothingWritten) {
  poison_outputs(case_.outputs);
  const DecodeCheck check = case_.check();
  EXPECT_THAT(check, Fails(true, true));
  EXPECT_THAT(check, SaysFirst("unwritten"));
  EXPECT_THAT(check.message(), HasSubstr("6,144 elements of `out` never written, first at request 0, token 0, head 0, "
                                         "dim 0"));
  EXPECT_EQ(check.poison_left, 12 * kValueDim + 12);
  EXPECT_EQ(check.nonfinite_got, 0) << "poison is no result";
}

TEST_F(Fault, LastRowsNotWritten) {
  const CheckedCase fresh = make("decode:h=4,b=2,q=1+2,kv=500+16,dist=needle,seed=3");
  poison_outputs(fresh.outputs);
  for (std::int64_t row = 0; row < 10; ++row) {
    std::copy_n(case_.out(row), kValueDim, fresh.out(row));
    fresh.lse(row) = case_.lse(row);
  }
  const DecodeCheck check = fresh.check();
  EXPECT_THAT(check.message(), AllOf(HasSubstr("1,024 elements of `out` never written, first at request 1, token 2, "
                                               "head 2, dim 0"),
                                     HasSubstr("2 elements of `lse` never written")));
}

TEST_F(Fault, SwappedHeads) {
  std::swap_ranges(case_.out(0), case_.out(0) + kValueDim, case_.out(1));
  std::swap(case_.lse(0), case_.lse(1));
  EXPECT_THAT(case_.check(), Fails(true, true));
}

TEST_F(Fault, LseInBase2) {
  for (std::int64_t row = 0; row < case_.rows(); ++row) case_.lse(row) *= 1.44269504F;
  const DecodeCheck check = case_.check();
  EXPECT_THAT(check, Fails(false, true));
  EXPECT_THAT(check, SaysFirst("lse_bound"));
  EXPECT_THAT(check.message(), AllOf(StartsWith("lse bound exceeded "), HasSubstr("12 of 12 rows affected")));
  EXPECT_THAT(check.worst, Contains(AllOf(Field(&WorstElement::tier, "lse"), Field(&WorstElement::ratio, Gt(1)))));
}

TEST_F(Fault, ZeroOutput) {
  for (std::int64_t row = 0; row < case_.rows(); ++row) std::fill_n(case_.out(row), kValueDim, Bfloat16{0});
  EXPECT_THAT(case_.check(), Fails(true, false));
}

TEST_F(Fault, WrongSign) {
  for (int dim = 0; dim < kValueDim; ++dim) case_.out(kRow)[dim].bits ^= 0x8000;
  EXPECT_THAT(case_.check(), Fails(true, false));
}

TEST_F(Fault, BytesOutOfBounds) {
  const auto overwrite = [&](const Buffer& buffer, std::int64_t offset) {
    arm_canary(case_.outputs.out);
    arm_canary(case_.outputs.lse);
    buffer.whole[static_cast<std::size_t>(offset + static_cast<std::int64_t>(Buffer::kGuardBytes))] ^= std::byte{1};
    return case_.check();
  };
  const auto& [out, lse] = case_.outputs;
  const auto expect = [](const DecodeCheck& check, const std::string& message) {
    EXPECT_FALSE(check.passed());
    EXPECT_EQ(check.failure_kind(), "canary");
    EXPECT_EQ(check.canary, message);
    EXPECT_THAT(check.message(), StartsWith(message));
    EXPECT_THAT(check.tiers, Each(Field(&TierResult::verdict, TierVerdict::passed)));
  };
  expect(overwrite(out, std::ssize(out.data())), "canary after `out` overwritten at +0 bytes");
  expect(overwrite(out, std::ssize(out.data()) + 100), "canary after `out` overwritten at +100 bytes");
  expect(overwrite(out, -4), "canary before `out` overwritten at -4 bytes");
  expect(overwrite(lse, std::ssize(lse.data())), "canary after `lse` overwritten at +0 bytes");
  expect(overwrite(lse, -1), "canary before `lse` overwritten at -1 bytes");
}

TEST(GapFault, WriteBetweenRows) {
  const CheckedCase padded = make("decode:h=3,q=2,kv=70,stride=padded");
  ASSERT_TRUE(padded.check().passed());
  padded.out(4)[kValueDim] = Bfloat16{0};
  EXPECT_THAT(padded.check(), SaysFirst("gap_written"));
  EXPECT_EQ(padded.check().message(),
            "1 element of `out` written between rows, first after request 0, token 1, head 1");
  // Beyond the last head of a token.
  padded.out(4)[kValueDim].bits = padded.out(3)[kValueDim].bits;
  (&padded.lse(2))[1] = 0;
  EXPECT_EQ(padded.check().message(),
            "1 element of `lse` written between rows, first after request 0, token 0, head 2");
}

TEST(EmptyRowFault, MustHoldExactlyZeroAndMinusInfinity) {
  // Two tokens of context: the first two of four query rows see none.
  const auto empty = [] { return make("decode:h=2,q=4,kv=2"); };
  ASSERT_EQ(empty().oracle().visible[2], 0);
  ASSERT_TRUE(empty().check().passed());
  ASSERT_EQ(empty().check().nonfinite_ref, 4);

  const CheckedCase tiny = empty();
  tiny.out(2)[9] = Bfloat16::from_float(0x1p-100F);
  EXPECT_THAT(tiny.check(), SaysFirst("empty_row"));
  EXPECT_THAT(tiny.check(), Fails(true, false));
  EXPECT_THAT(tiny.check().message(),
              AllOf(HasSubstr("`out` is 7.88861e-31 at request 0, token 1, head 0, dim 9"), HasSubstr("must hold 0")));

  const CheckedCase finite = empty();
  finite.lse(3) = -3e38F;
  EXPECT_THAT(finite.check(), Fails(false, true));
  EXPECT_THAT(finite.check().message(), HasSubstr("must hold -inf"));

  const CheckedCase not_a_number = empty();
  not_a_number.out(0)[0] = Bfloat16{0x7fc0};
  not_a_number.lse(0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(not_a_number.check(), Fails(true, true));

  const CheckedCase positive = empty();
  positive.lse(0) = std::numeric_limits<float>::infinity();
  EXPECT_THAT(positive.check(), Fails(false, true));
}

// Results of kernels that misread their inputs: the oracle of other views of the same memory.
struct Misreading {
  std::string name;
  std::string word;
  std::function<void(DecodeInputs&, const DecodeInputBuffers&)> apply;
};

std::ostream& operator<<(std::ostream& out, const Misreading& m) {
  return out << m.name;
}

class MisreadInputs : public ::testing::TestWithParam<Misreading> {};

TEST_P(MisreadInputs, AreCaught) {
  const CheckedCase checked = make(GetParam().word);
  ASSERT_TRUE(checked.check().passed());
  DecodeInputs views = checked.made.views();
  GetParam().apply(views, checked.made.buffers);
  checked.write_result_of(views);
  for (const Precision& precision : {Precision{}, Precision{.probabilities = DataType::bf16}}) {
    EXPECT_THAT(checked.check(precision), Fails(true, true));
  }
}

void shorten(DecodeInputs& /*views*/, const DecodeInputBuffers& buffers) {
  --*buffers.kv_last_page_len.as<std::int32_t>();
}

std::vector<Misreading> misreadings() {
  const auto swap_pages = [](DecodeInputs&, const DecodeInputBuffers& buffers) {
    // Page 1 of request 0 for page 1 of request 1: a block table read with the wrong request.
    auto* const indices = buffers.kv_indices.as<std::int32_t>();
    std::swap(indices[1], indices[buffers.kv_indptr.as<std::int32_t>()[1] + 1]);
  };
  return {
      {"missing_last_token_needle", "decode:h=2,kv=4000,dist=needle", shorten},
      {"no_causal_mask", "decode:h=2,q=4,kv=2000,dist=needle", [](DecodeInputs& in, auto&) { in.causal = false; }},
      {"scale_1_percent", "decode:h=2,kv=1000,dist=needle", [](DecodeInputs& in, auto&) { in.sm_scale *= 1.01F; }},
      {"scale_of_576", "decode:h=2,kv=1000", [](DecodeInputs& in, auto&) { in.sm_scale = 1.0F / 24; }},
      {"kv_scale_ignored", "decode:h=2,kv=300,dtype=bf16.e4m3fn", [](DecodeInputs& in, auto&) { in.kv_scale = 1; }},
      {"q_scale_ignored", "decode:h=2,kv=300,dtype=e4m3fn", [](DecodeInputs& in, auto&) { in.q_scale = 1; }},
      {"other_fp8_encoding", "decode:h=2,kv=300,dtype=bf16.e4m3fn",
       [](DecodeInputs& in, auto&) { in.kv.dtype = DataType::e4m3fnuz; }},
      {"wrong_page", "decode:h=2,b=2,kv=1000,dist=needle", swap_pages},
      {"page_zero", "decode:h=2,kv=100",
       [](DecodeInputs&, const DecodeInputBuffers& buffers) { buffers.kv_indices.as<std::int32_t>()[0] = 0; }},
  };
}

INSTANTIATE_TEST_SUITE_P(Kernels, MisreadInputs, ::testing::ValuesIn(misreadings()));

// One of thousands of nearly equal tokens moves an output by less than rounding P to bf16 may: tier L alone can tell.
TEST(MissingToken, AmongManyEqualsShowsInTheLse) {
  const CheckedCase checked = make("decode:h=2,kv=4000");
  DecodeInputs views = checked.made.views();
  shorten(views, checked.made.buffers);
  checked.write_result_of(views);
  EXPECT_THAT(checked.check({.probabilities = DataType::bf16}), Fails(false, true));
  EXPECT_THAT(checked.check({.probabilities = DataType::f32}), Fails(true, true));
}

// What no bound can tell from rounding: all roundings of a row the same way, or all outputs a little too large.
TEST(Spread, ShowsErrorsThatDoNotAverageOut) {
  const CheckedCase checked = make("decode:h=32,kv=4096");
  const auto scaled = [&](double gain) {
    for (std::int64_t row = 0; row < checked.rows(); ++row) {
      for (int dim = 0; dim < kValueDim; ++dim) {
        const double value = checked.oracle().out[static_cast<std::size_t>(row * kValueDim + dim)];
        checked.out(row)[dim] = Bfloat16::from_float(static_cast<float>(gain * value));
      }
    }
    return checked.check({.probabilities = DataType::bf16});
  };
  EXPECT_TRUE(scaled(1).passed()) << scaled(1).message();
  EXPECT_NEAR(*scaled(1).spread.slope, 1, 1e-4);
  EXPECT_THAT(scaled(1.01), FailsInSpreadAlone());
  EXPECT_NEAR(*scaled(1.01).spread.slope, 1.01, 1e-3);
  EXPECT_THAT(scaled(1.002), SaysFirst("slope"));
  EXPECT_THAT(scaled(1.002).message(), HasSubstr("`out` is 1.002"));
  EXPECT_TRUE(scaled(1.001).passed()) << scaled(1.001).message();
  EXPECT_THAT(scaled(0.99), FailsInSpreadAlone());
}

TEST(Spread, ShowsOneRowAmongMany) {
  const CheckedCase checked = make("decode:h=32,kv=4096");
  for (int dim = 0; dim < kValueDim; ++dim) {
    Bfloat16& element = checked.out(7)[dim];
    const double error =
        0.5 * 0x1p-8 * static_cast<double>(checked.oracle().abs_sum[7 * kValueDim + static_cast<std::size_t>(dim)]);
    element = Bfloat16::from_float(static_cast<float>(static_cast<double>(element.to_float()) + error));
  }
  const DecodeCheck check = checked.check({.probabilities = DataType::bf16});
  EXPECT_THAT(check, FailsInSpreadAlone());
  EXPECT_THAT(check, SaysFirst("spread"));
  EXPECT_THAT(check.message(),
              AllOf(HasSubstr("errors of request 0, token 0, head 7 are "), HasSubstr("; 1 of 32 rows affected")));
  EXPECT_THAT(check.worst, Contains(AllOf(Field(&WorstElement::tier, "stat"), Field(&WorstElement::head, 7))));
}

// Within the bound of a sum of rounded P, whose roundings cannot all go the same way; and said once where the bound
// says it already.
TEST(Spread, ShowsAnLseThatIsOff) {
  const CheckedCase checked = make("decode:h=4,kv=4096");
  checked.lse(2) += 0.003F;
  const DecodeCheck check = checked.check({.probabilities = DataType::bf16, .row_sum_of_rounded = true});
  EXPECT_THAT(check, FailsInSpreadAlone());
  EXPECT_THAT(check, SaysFirst("lse_spread"));
  EXPECT_THAT(check.message(), AllOf(HasSubstr("lse of request 0, token 0, head 2 errs "), HasSubstr("; 1 of 4 rows")));
  EXPECT_EQ(checked.check({.probabilities = DataType::bf16}).failures.size(), 1U);
}

// The gain of fp8 probabilities does not average out under a near-uniform softmax: tier S must not judge it there.
TEST(Spread, IsNotJudgedWhereRoundingsAreNotIndependent) {
  const Precision fp8{.probabilities = DataType::e4m3fn};
  EXPECT_EQ(verdict_of(make("decode:h=32,kv=300,dist=uniform").check(fp8), "stat"), TierVerdict::skipped);
  EXPECT_EQ(verdict_of(make("decode:h=32,kv=300,dist=uniform").check({}), "stat"), TierVerdict::passed);
  EXPECT_FALSE(make("decode:h=32,kv=300,dist=ramp").check(fp8).spread.slope_limit);
  EXPECT_TRUE(make("decode:h=32,kv=300,dist=heavy").check(fp8).spread.slope_limit);
  EXPECT_FALSE(make("decode:h=31,kv=300").check({}).spread.slope_limit) << "fewer than 32 rows";
  EXPECT_FALSE(make("decode:h=32,kv=1,dtype=bf16.fp8").check({}).spread.slope) << "8 mantissas, and no more roundings";
}

// An error that rounding P to bf16 explains is none, and one that only such rounding explains is, where P is float32.
TEST(Declaration, DecidesWhatIsAllowed) {
  const CheckedCase checked = make("decode:h=2,kv=4096");
  for (std::int64_t row = 0; row < checked.rows(); ++row) {
    for (int dim = 0; dim < kValueDim; ++dim) {
      const auto i = static_cast<std::size_t>(row * kValueDim + dim);
      const double error = 0.9 * 0x1p-8 * static_cast<double>(checked.oracle().abs_sum[i]);
      checked.out(row)[dim] = Bfloat16::from_float(static_cast<float>(checked.oracle().out[i] + error));
    }
  }
  EXPECT_EQ(verdict_of(checked.check({.probabilities = DataType::bf16}), "hard"), TierVerdict::passed);
  EXPECT_THAT(checked.check({.probabilities = DataType::f32}), Fails(true, false));
}

TEST(CheckDecode, DoesNotDependOnTheNumberOfThreads) {
  const CheckedCase checked = make("decode:h=16,b=4,q=2,kv=90,dist=needle");
  for (std::int64_t row = 3; row < checked.rows(); row += 5) checked.out(row)[row] = Bfloat16{0};
  const auto with = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const DecodeCheck check = checked.check();
    omp_set_num_threads(before);
    return std::tuple(check.message(), check.rel_l2, check.abs_max, check.worst.front().ratio, check.worst.size());
  };
  EXPECT_EQ(with(1), with(2));
  EXPECT_EQ(with(1), with(7));
}

TEST(CheckDecode, ListsTheWorstRowsByFallingRatio) {
  const CheckedCase checked = make("decode:h=8,kv=90");
  for (const int row : {1, 4, 6}) checked.out(row)[0] = Bfloat16::from_float(static_cast<float>(10 * row));
  const DecodeCheck check = checked.check();
  ASSERT_THAT(check.worst, SizeIs(9)) << "three rows of each tier";
  EXPECT_THAT((std::vector{check.worst[0].head, check.worst[1].head, check.worst[2].head}),
              UnorderedElementsAre(1, 4, 6));
  EXPECT_GE(check.worst[0].ratio, check.worst[1].ratio);
  EXPECT_GE(check.worst[1].ratio, check.worst[2].ratio);
  EXPECT_GT(check.worst[2].ratio, 1);
  EXPECT_EQ(check.worst[3].tier, "stat");
}

}  // namespace
}  // namespace mla::harness
