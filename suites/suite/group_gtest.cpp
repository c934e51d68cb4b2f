#include "harness/suite/group.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/suite/strict_json.hpp"

namespace mla::harness {
namespace {

using testing::ElementsAre;

std::vector<SuiteCase> expand(const std::string& text) {
  const nlohmann::json document = parse_strict_json(text, "group");
  std::vector<SuiteCase> cases;
  expand_group(JsonNode(document, "group"), "s", 1000, [&](SuiteCase one) { cases.push_back(std::move(one)); });
  return cases;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (const SuiteCase& one : expand(text)) list.push_back(one.problem.word());
  return list;
}

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> list;
  for (const SuiteCase& one : expand(text)) list.push_back(one.name);
  return list;
}

const DecodeProblem& decode(const Problem& problem) {
  return *problem.visit([](const DecodeProblem& p) { return &p; });
}

TEST(Group, SpansTheProductOfItsAxes) {
  const char* group = R"({"name":"g","base":{"b":2},"axes":{"kv":[8,9],"dtype":["bf16","fp8"]}})";
  EXPECT_THAT(words(group), ElementsAre("decode:b=2,kv=8", "decode:b=2,kv=9", "decode:b=2,kv=8,dtype=fp8",
                                        "decode:b=2,kv=9,dtype=fp8"));
  EXPECT_THAT(names(group),
              ElementsAre("g/dtype=bf16,kv=8", "g/dtype=bf16,kv=9", "g/dtype=fp8,kv=8", "g/dtype=fp8,kv=9"));
}

TEST(Group, AdvancesAZipTogether) {
  EXPECT_THAT(words(R"({"name":"g","zip":{"b":[1,2],"kv":[8,9]},"axes":{"q":[1,2]}})"),
              ElementsAre("decode:kv=8", "decode:q=2,kv=8", "decode:b=2,kv=9", "decode:q=2,b=2,kv=9"));
}

TEST(Group, TakesListsFlagsAndNumbers) {
  EXPECT_THAT(
      words(R"({"name":"g","base":{"causal":false,"scale":0.25},"axes":{"kv":[[8192,1,17,64],"3x1024+7"]}})"),
      ElementsAre("decode:b=4,kv=8192+1+17+64,causal=0,scale=0.25", "decode:b=4,kv=3x1024+7,causal=0,scale=0.25"));
}

TEST(Group, GetsHeadsAndScaleFromTheModel) {
  EXPECT_THAT(words(R"({"name":"g","model":"deepseek-v3","tp":4,"axes":{"kv":[8]}})"), ElementsAre("decode:h=32,kv=8"));
  EXPECT_THAT(words(R"({"name":"g","model":"glm-5","axes":{"kv":[8]}})"), ElementsAre("decode:h=64,kv=8,scale=0.0625"));
}

TEST(Group, NamesLongValuesByTheirPosition) {
  EXPECT_THAT(names(R"({"name":"g","axes":{"kv":[[1000,1001,1002,1003,1004,1005],[1]]}})"),
              ElementsAre("g/kv=0th", "g/kv=1"));
}

TEST(Group, LeavesOutWhatIsLargerThanItsLimit) {
  EXPECT_THAT(words(R"({"name":"g","max_total_kv":16,"axes":{"b":[1,2,4],"kv":[4,8]}})"),
              ElementsAre("decode:kv=4", "decode:kv=8", "decode:b=2,kv=4", "decode:b=2,kv=8", "decode:b=4,kv=4"));
}

TEST(Group, PairwiseHoldsEveryPairOfValues) {
  const char* group =
      R"({"name":"g","pairwise":true,"axes":{"h":[8,16,32,64],"q":[1,2,3],"page":[1,16,64],"dtype":["bf16","fp8"],)"
      R"("stride":["dense","padded"]}})";
  const std::vector<SuiteCase> cases = expand(group);
  std::set<std::pair<std::string, std::string>> pairs;
  for (const SuiteCase& one : cases) {
    std::vector<std::string> labels;
    std::string label;
    for (const char c : one.name.substr(2) + ",") {
      if (c != ',') {
        label += c;
      } else {
        labels.push_back(std::exchange(label, {}));
      }
    }
    ASSERT_EQ(labels.size(), 5u);
    for (std::size_t a = 0; a < labels.size(); ++a) {
      for (std::size_t b = a + 1; b < labels.size(); ++b) pairs.insert({labels[a], labels[b]});
    }
  }
  EXPECT_EQ(pairs.size(), 4u * 3 + 4 * 3 + 4 * 2 + 4 * 2 + 3 * 3 + 3 * 2 + 3 * 2 + 3 * 2 + 3 * 2 + 2 * 2);
  EXPECT_LE(cases.size(), 18u);
}

TEST(Lengths, OneLongHasOneLong) {
  EXPECT_THAT(words(R"({"name":"g","base":{"b":4,"kv":4096},"axes":{"lengths":["one-long","uniform"]}})"),
              ElementsAre("decode:b=4,kv=4096+3x65", "decode:b=4,kv=4096"));
  EXPECT_THAT(words(R"({"name":"g","base":{"b":3,"kv":7},"axes":{"lengths":["one-long"]}})"),
              ElementsAre("decode:b=3,kv=7"));
}

TEST(Lengths, RaggedStaysInRangeAndStartsWithTheLongest) {
  for (
      const SuiteCase& one : expand(
          R"({"name":"g","base":{"lengths":"ragged"},"axes":{"b":[1,2,3,15,16,17,255,512],"kv":[1,2,21,1000,131072]}})")) {
    const DecodeProblem& problem = decode(one.problem);
    const std::int64_t longest = problem.kv_len(0);
    std::set<std::int64_t> distinct;
    for (int request = 0; request < problem.batch(); ++request) {
      EXPECT_GE(problem.kv_len(request), 1);
      EXPECT_LE(problem.kv_len(request), longest);
      distinct.insert(problem.kv_len(request));
    }
    EXPECT_THAT(one.name, testing::EndsWith("kv=" + std::to_string(longest)));
    if (longest >= 1000) {
      EXPECT_EQ(distinct.size(), std::min<std::size_t>(16, static_cast<std::size_t>(problem.batch())));
    }
  }
}

}  // namespace
}  // namespace mla::harness
