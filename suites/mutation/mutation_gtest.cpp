// The checker, tested: every fault that is planted is caught by the tier that is stated for it, on every shape and
// every pair of element types, and a kernel without a fault never is.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "suites/mutation/clean_runs.hpp"
#include "suites/mutation/emulated_provider.hpp"
#include "suites/mutation/mutation_case.hpp"

namespace mla::mutation {
namespace {

constexpr int kFamilies = 23;

// Shapes that between them have many heads and few, several query tokens, ragged lengths, small and large pages, partly
// filled last pages, and splits of several blocks.
const std::vector<std::string> kShapes = {
    "h=16,b=2,kv=700+333",
    "h=7,b=3,q=4+1+2,kv=257+64+450,page=16",
    "h=64,q=2,kv=600,page=1",
    "h=128,kv=300,page=256",
};
const std::vector<std::string> kTypes = {"bf16", "bf16.fp8", "fp8"};
const std::vector<std::string> kDistributions = {"randn", "sharp", "needle", "sink"};

std::string word_of(const std::string& shape, const std::string& types, const std::string& distribution) {
  return fmt::format("decode:{},dtype={},dist={}", shape, types, distribution);
}

/// One shape with contents of every distribution.
class Family : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  [[nodiscard]] static std::vector<Fault> variants(int family) {
    std::vector<Fault> list;
    for (const Fault& fault : faults()) {
      if (fault.family() == family) list.push_back(fault);
    }
    return list;
  }
};

// Why a fault may go unseen on some shapes; empty where it must be seen on each. On one shape it must be seen anyway.
std::string_view survival_reason(const Fault& fault, const std::string& types) {
  // Cutting the output takes 0.27 % off on average. What shows it is the spread, where few tokens carry the mass, or a
  // probe whose answer is no bf16 number.
  if (fault.mechanism == Mechanism::truncate_output && types == "fp8") {
    return "a gain of 0.27 % is within what the slope may be off with fp8 P";
  }
  return {};
}

// What notices `fault` on one shape: distributions in turn until one shows it, then the probes.
class Shape {
 public:
  Shape(std::string shape, std::string types) : shape_(std::move(shape)), types_(std::move(types)) {}

  [[nodiscard]] bool inert(const Fault& fault) { return !inert_reason(fault, at(0).problem()).empty(); }

  [[nodiscard]] std::vector<std::string> notice(const Fault& fault) {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < kDistributions.size(); ++i) {
      for (const std::string& name : caught_by(at(i).run(fault))) seen.push_back(name);
      if (any_of_tiers(fault.tiers, seen)) return seen;
    }
    if (at(0).probes_catch(fault)) seen.emplace_back("probes");
    return seen;
  }

 private:
  MutationCase& at(std::size_t i) {
    if (i == cases_.size()) {
      cases_.push_back(std::make_unique<MutationCase>(word_of(shape_, types_, kDistributions[i])));
    }
    return *cases_[i];
  }

  std::string shape_;
  std::string types_;
  std::vector<std::unique_ptr<MutationCase>> cases_;
};

TEST_P(Family, EveryVariantIsCaughtOnEveryShape) {
  const auto& [types, family] = GetParam();
  std::vector<std::string_view> met;
  std::vector<std::string_view> caught;
  for (const std::string& name : kShapes) {
    Shape shape(name, types);
    for (const Fault& fault : variants(family)) {
      if (shape.inert(fault)) continue;
      met.push_back(fault.name);
      const std::vector<std::string> seen = shape.notice(fault);
      if (any_of_tiers(fault.tiers, seen)) {
        caught.push_back(fault.name);
      } else {
        EXPECT_NE(survival_reason(fault, types), "")
            << fault.name << " (" << fault.what << ") on " << name << ", dtype=" << types
            << "; seen by: " << ::testing::PrintToString(seen);
      }
    }
  }
  for (const std::string_view name : met) {
    EXPECT_NE(std::find(caught.begin(), caught.end(), name), caught.end()) << name << " was caught on no shape";
  }
}

std::vector<int> families() {
  std::vector<int> list;
  for (int family = 1; family <= kFamilies; ++family) {
    // Those take several launches, or a look at what lies behind the outputs: runner_gtest.cpp.
    if (family != 19 && family != 20) list.push_back(family);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Family, ::testing::Combine(::testing::ValuesIn(kTypes), ::testing::ValuesIn(families())),
                         [](const auto& param) {
                           std::string types = std::get<0>(param.param);
                           for (char& c : types) c = c == '.' ? '_' : c;
                           return fmt::format("M{}_{}", std::get<1>(param.param), types);
                         });

TEST(Faults, CoverEveryFamilyAndHaveUniqueNames) {
  std::vector<std::string> names;
  std::vector<int> count(kFamilies + 1, 0);
  for (const Fault& fault : faults()) {
    ASSERT_GE(fault.family(), 1) << fault.name;
    ASSERT_LE(fault.family(), kFamilies) << fault.name;
    ++count[static_cast<std::size_t>(fault.family())];
    EXPECT_EQ(std::find(names.begin(), names.end(), fault.name), names.end()) << fault.name;
    names.emplace_back(fault.name);
    EXPECT_FALSE(fault.tiers.empty()) << fault.name;
  }
  for (int family = 1; family <= kFamilies; ++family) EXPECT_GT(count[static_cast<std::size_t>(family)], 0) << family;
}

const harness::RelationResult& relation(const std::vector<harness::RelationResult>& results, std::string_view name) {
  return *std::find_if(results.begin(), results.end(), [&](const auto& result) { return result.relation == name; });
}

// Splits averaged without their weights, near-uniform softmax: 4 % of an output that is itself a fortieth of what the
// bounds go by. Twice a bound sees nothing of it; two roundings do not explain it.
TEST(Metamorphic, SpreadShowsWhatTwoBoundsAllow) {
  const MutationCase mutated("decode:h=4,kv=2000,dist=randn");
  const auto weights =
      std::find_if(faults().begin(), faults().end(), [](const Fault& fault) { return fault.name == "M9.weights"; });
  const auto found = mutated.relations(*weights);
  EXPECT_EQ(relation(found, "split_count").verdict, harness::TierVerdict::failed);
  EXPECT_NE(relation(found, "split_count").message.find("standard errors"), std::string::npos)
      << relation(found, "split_count").message;
  for (const harness::RelationResult& result : mutated.relations(clean())) {
    EXPECT_NE(result.verdict, harness::TierVerdict::failed) << result.relation << ": " << result.message;
    EXPECT_LT(result.max_ratio, 1) << result.relation;
  }
}

/// A thousand kernels without a fault, a hundred a test. More of them: mla.test.mutation.clean.
class Clean : public ::testing::TestWithParam<int> {};

TEST_P(Clean, HundredRunsWithoutAFalseAlarm) {
  constexpr int kRuns = 100;
  for (int run = GetParam() * kRuns; run < (GetParam() + 1) * kRuns; ++run) {
    const std::string word = clean_word(run);
    const harness::DecodeCheck check = MutationCase(word).run(clean());
    EXPECT_TRUE(check.passed()) << word << ": " << check.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Thousand, Clean, ::testing::Range(0, 10));

}  // namespace
}  // namespace mla::mutation
