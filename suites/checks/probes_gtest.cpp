// The closed-form answers against the oracle, and what a probe says of kernels that lose, repeat or misplace tokens.
#include "harness/checks/probes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/checks/probe_answer.hpp"
#include "harness/checks/uniform_reading.hpp"
#include "harness/inputs/distribution.hpp"
#include "harness/problem/problem.hpp"
#include "suites/checks/checked_case.hpp"

namespace mla::harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fields fields_of(const std::string& word) {
  return Problem::parse(word).visit([](const DecodeProblem& problem) { return problem.fields(); });
}

// A problem whose buffers hold a probe's contents.
struct Probed {
  explicit Probed(const std::string& word)
      : made(fields_of(word)),
        inputs(made.problem, made.layout, made.buffers),
        arena(Arena::create(made.layout.output_bytes())),
        outputs(made.layout.take_outputs(arena)) {}

  void write_result_of(const DecodeInputs& views) const {
    const OracleOf result(views, made.problem.total_q());
    const DecodeOutputs to = made.layout.bind(outputs);
    const int heads = made.problem.fields().heads;
    for (std::int64_t row = 0; row < result.oracle.rows; ++row) {
      auto* const out =
          static_cast<Bfloat16*>(to.out.data) + row / heads * to.out.token_stride + row % heads * to.out.head_stride;
      for (int dim = 0; dim < kValueDim; ++dim) {
        out[dim] = Bfloat16::from_float(
            static_cast<float>(result.oracle.out[static_cast<std::size_t>(row * kValueDim + dim)]));
      }
      to.lse.data[row / heads * to.lse.token_stride + row % heads * to.lse.head_stride] =
          static_cast<float>(result.oracle.lse[static_cast<std::size_t>(row)]);
    }
  }

  // Runs a whole sweep through a kernel that sees what `misread` makes of the inputs.
  ProbeCheck sweep(const std::function<void(DecodeInputs&)>& misread = [](DecodeInputs&) {}) {
    ProbeCheck check(made.problem, made.layout, inputs, {});
    for (int launch = 0; launch < inputs.launches(); ++launch) {
      inputs.fill(launch);
      DecodeInputs views = made.views();
      misread(views);
      write_result_of(views);
      check.add(launch, outputs);
    }
    return check;
  }

  MadeInputs made;
  ProbeInputs inputs;
  Arena arena;
  DecodeOutputBuffers outputs;
};

const std::vector<std::string> kWords = {
    "decode:h=3,kv=700",
    "decode:h=1,kv=65",
    "decode:h=1,kv=1",
    "decode:h=5,q=4,b=3,kv=2+130+500,page=16",
    "decode:h=4,q=2,kv=300,causal=0,dtype=bf16.e4m3fn",
    "decode:h=3,kv=513,dtype=e4m3fn,stride=padded",
    "decode:h=3,kv=513,dtype=e4m3fnuz,page=1",
    "decode:h=3,kv=513,dtype=bf16.e4m3fnuz",
    "decode:h=3,kv=300,dtype=e4m3fn,qs=1,ks=1",
    "decode:h=3,kv=300,dtype=e4m3fn,ks=0.5",
    "decode:h=2,kv=300,scale=2",
    "decode:h=2,kv=300,scale=0.0001",
};

class Probes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Words, Probes, ::testing::ValuesIn(kWords));

TEST_P(Probes, AnswersAreTheOracles) {
  Probed probed(GetParam());
  const DecodeProblem& problem = probed.made.problem;
  const int heads = problem.fields().heads;
  const auto kv_scale = static_cast<double>(static_cast<float>(problem.fields().kv_scale));
  for (const int launch : {0, 1, probed.inputs.launches() - 1}) {
    probed.inputs.fill(launch);
    const OracleOf expected(probed.made.views(), problem.total_q());
    std::int64_t row = 0;
    for (int request = 0; request < problem.batch(); ++request) {
      for (int token = 0; token < problem.q_len(request); ++token) {
        for (int head = 0; head < heads; ++head, ++row) {
          const std::int64_t visible = problem.visible_tokens(request, token);
          if (visible == 0) continue;
          const ProbeRow kind = probed.inputs.row(launch, request, token, head);
          const auto answer =
              checks::probe_answer(probed.inputs.pattern(), kind, visible, problem.kv_len(request), kv_scale, {});
          ASSERT_NEAR(answer.lse, expected.oracle.lse[static_cast<std::size_t>(row)],
                      1e-9 * (1 + std::abs(answer.lse)));
          for (std::size_t d = 0; d < answer.out.size(); ++d) {
            ASSERT_NEAR(answer.out[d], expected.oracle.out[static_cast<std::size_t>(row) * kValueDim + d],
                        1e-9 * kv_scale)
                << "launch " << launch << ", row " << row << ", dim " << d;
          }
        }
      }
    }
  }
}

// Equal weights round alike: a whole bucket is off by what one of its tokens is, where the needle alone is exact.
TEST_P(Probes, RoundingOfPBesideANeedleIsAllowed) {
  const Probed probed(GetParam());
  const DecodeProblem& problem = probed.made.problem;
  const std::int64_t kv_len = problem.kv_len(0);
  const auto kv_scale = static_cast<double>(static_cast<float>(problem.fields().kv_scale));
  if (!probed.inputs.pattern().can(ProbeKind::needle)) GTEST_SKIP() << "its types cannot say a needle's logit";
  for (const DataType type : {DataType::bf16, DataType::e4m3fn}) {
    const Precision precision{.probabilities = type};
    const auto answer =
        checks::probe_answer(probed.inputs.pattern(), {ProbeKind::needle, 0}, kv_len, kv_len, kv_scale, precision);
    for (int d = 1; d < std::min<std::int64_t>(ProbePattern::kBuckets, kv_len); ++d) {
      const auto at = static_cast<std::size_t>(d);
      const double rounded = answer.out[at] * (1 + unit_roundoff(type));
      const double written = rounded * (1 + unit_roundoff(DataType::bf16));
      ASSERT_LE(std::abs(written - answer.out[at]), answer.bound[at]) << name_of(type) << ", dim " << d;
    }
  }
}

TEST_P(Probes, ACleanKernelPassesAll) {
  const ProbeCheck check = Probed(GetParam()).sweep();
  EXPECT_TRUE(check.passed()) << message_of(check.failures());
  EXPECT_THAT(check.faults(), IsEmpty());
  for (const ProbeResult& result : check.results()) {
    EXPECT_EQ(result.verdict, TierVerdict::passed) << name_of(result.probe);
  }
}

TEST(ProbeSweep, PutsEveryKindAndEveryNeedleInEveryRequest) {
  for (const char* word : {"decode:h=1,kv=300", "decode:h=16,q=2,b=3,kv=300"}) {
    const Probed probed(word);
    for (int request = 0; request < probed.made.problem.batch(); ++request) {
      std::set<ProbeRow> seen;
      for (int launch = 0; launch < probed.inputs.launches(); ++launch) {
        for (int head = 0; head < probed.made.problem.fields().heads; ++head) {
          seen.insert(probed.inputs.row(launch, request, 0, head));
        }
      }
      const auto needles = needle_positions(300, probed.made.problem.q_len(request));
      EXPECT_EQ(seen.size(), needles.size() + 3) << word;
    }
  }
}

TEST(ProbeSweep, WhatTypesCannotSayIsSkipped) {
  Probed probed("decode:h=1,kv=64,dtype=e4m3fn,qs=1e-6,ks=1e-6");
  const ProbeCheck check = probed.sweep();
  EXPECT_TRUE(check.passed());
  EXPECT_EQ(check.results()[static_cast<std::size_t>(ProbeId::buckets)].verdict, TierVerdict::passed);
  EXPECT_EQ(check.results()[static_cast<std::size_t>(ProbeId::falling)].verdict, TierVerdict::skipped);
  EXPECT_EQ(check.results()[static_cast<std::size_t>(ProbeId::needle)].verdict, TierVerdict::skipped);
}

TEST(ProbeFaults, ALostTokenIsNamed) {
  Probed probed("decode:h=2,b=2,kv=1000+400,dtype=bf16.e4m3fn");
  // The last page one token shorter: the last token of request 0 is lost.
  auto* const last = probed.made.buffers.kv_last_page_len.as<std::int32_t>();
  ProbeCheck shorter(probed.made.problem, probed.made.layout, probed.inputs, {});
  probed.inputs.fill(0);
  --last[0];
  probed.write_result_of(probed.made.views());
  ++last[0];
  shorter.add(0, probed.outputs);
  EXPECT_FALSE(shorter.passed());
  EXPECT_THAT(message_of(shorter.failures()),
              AllOf(HasSubstr("probe E1: token 999 is missing: "), HasSubstr("probe E2: token 999 is missing: "),
                    HasSubstr("request 0, token 0, head "), HasSubstr("2 of 4 rows affected")));
}

TEST(ProbeFaults, AWrongScaleShowsInE4) {
  Probed probed("decode:h=3,kv=900");
  const ProbeCheck check = probed.sweep([](DecodeInputs& views) { views.sm_scale *= 1.01F; });
  EXPECT_THAT(check.faults(), Contains(Field(&ProbeFault::probe, ProbeId::falling)));
}

TEST(ProbeFaults, AMaskThatEndsLateShowsInE5) {
  Probed probed("decode:h=3,q=4,kv=900");
  const ProbeCheck check = probed.sweep([](DecodeInputs& views) { views.causal = false; });
  EXPECT_THAT(check.faults(), Contains(Field(&ProbeFault::probe, ProbeId::needle)));
  EXPECT_THAT(message_of(check.failures()), HasSubstr("and must not be seen"));
}

TEST(ProbeFaults, AScaleOfVThatIsIgnoredShowsInE3) {
  Probed probed("decode:h=3,kv=900,dtype=bf16.e4m3fn");
  const ProbeCheck check = probed.sweep([](DecodeInputs& views) { views.kv_scale = 1; });
  EXPECT_THAT(check.faults(), Contains(Field(&ProbeFault::probe, ProbeId::one)));
}

// A row over other tokens than it should be, in the arithmetic of a kernel.
std::string reading(std::int64_t visible, const std::vector<std::int64_t>& tokens) {
  const DecodeProblem problem(fields_of("decode:kv=4000"));
  const ProbePattern pattern(problem, DecodeLayout(problem, DataType::e4m3fn));
  std::array<double, kValueDim> values{};
  for (const std::int64_t k : tokens) {
    const auto row = pattern.key(k, 4000, false);
    for (std::size_t d = 0; d < values.size(); ++d) values[d] += static_cast<double>(row[d]);
  }
  for (double& value : values) {
    const float mean = static_cast<float>(value / static_cast<double>(tokens.size()));
    value = static_cast<double>(Bfloat16::from_float(mean).to_float());
  }
  return checks::read_uniform_row(values, std::log(static_cast<double>(tokens.size())), visible);
}

std::vector<std::int64_t> tokens_but(std::int64_t visible, const std::vector<std::int64_t>& lost,
                                     const std::vector<std::int64_t>& more = {}) {
  std::vector<std::int64_t> tokens = more;
  for (std::int64_t k = 0; k < visible; ++k) {
    if (std::find(lost.begin(), lost.end(), k) == lost.end()) tokens.push_back(k);
  }
  return tokens;
}

TEST(UniformReading, SpellsTheTokenWhateverTheLength) {
  for (const std::int64_t visible : {2, 3, 65, 1000, 1001, 3999}) {
    for (const std::int64_t lost : {std::int64_t{0}, std::int64_t{1}, visible / 2, visible - 2, visible - 1}) {
      EXPECT_EQ(reading(visible, tokens_but(visible, {lost})), "token " + std::to_string(lost) + " is missing");
      EXPECT_EQ(reading(visible, tokens_but(visible, {}, {lost})),
                "token " + std::to_string(lost) + " is weighed twice");
    }
    EXPECT_EQ(reading(visible, tokens_but(visible, {}, {visible})),
              "token " + std::to_string(visible) + " is weighed and must not be seen");
  }
}

TEST(UniformReading, NamesTheStretchOfManyTokens) {
  std::vector<std::int64_t> page;
  for (std::int64_t k = 640; k < 704; ++k) page.push_back(k);
  EXPECT_EQ(reading(1000, tokens_but(1000, page)), "64 tokens are missing, those with k mod 480 in 160..223");
  EXPECT_EQ(reading(1000, tokens_but(1000, {}, page)), "64 tokens are too many, those with k mod 480 in 160..223");
  EXPECT_THAT(reading(1000, tokens_but(1000, {5}, {6})), HasSubstr("stand in for others: 1 with k mod 480 = 5"));
}

TEST(UniformReading, SaysNothingWhereNothingCanBeRead) {
  std::array<double, kValueDim> values{};
  EXPECT_EQ(checks::read_uniform_row(values, std::nan(""), 100), "");
  EXPECT_EQ(checks::read_uniform_row(values, std::log(100.4), 100), "");
  EXPECT_EQ(reading(100, tokens_but(100, {})), "");
}

}  // namespace
}  // namespace mla::harness
