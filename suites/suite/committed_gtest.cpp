// The suites that come with the harness: they load, follow their schema, and hold what their names promise.
#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/suite/model.hpp"
#include "harness/suite/strict_json.hpp"
#include "harness/suite/suite.hpp"
#include "suites/support/json_schema.hpp"

namespace mla::harness {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const BuiltinSuite& suite : builtin_suites()) names.push_back(suite.name);
  return names;
}

const DecodeProblem& decode(const Problem& problem) {
  return *problem.visit([](const DecodeProblem& p) { return &p; });
}

std::string validate(const nlohmann::json& document, const char* name = "mla-harness-suite-1.0.schema.json") {
  const std::string objections = test::JsonSchema(suites_directory() / "schema" / name).objections(document);
  return objections.empty() ? "valid" : objections;
}

TEST(Committed, AllExist) {
  EXPECT_THAT(suite_names(), IsSupersetOf({"smoke", "models", "edge", "nightly", "trace", "peers", "calibration"}));
}

class CommittedSuite : public testing::TestWithParam<std::string> {};

TEST_P(CommittedSuite, LoadsUnderItsOwnNameWithADescription) {
  const Suite suite = load_suite(find_suite(GetParam()));
  EXPECT_EQ(suite.name, GetParam());
  EXPECT_FALSE(suite.description.empty());
}

TEST_P(CommittedSuite, FollowsTheSchema) {
  EXPECT_EQ(validate(read_strict_json(find_suite(GetParam()))), "valid");
}

TEST_P(CommittedSuite, HasUniqueWordsAndNamesAndParsesThem) {
  std::set<std::string> words;
  std::set<std::string> names;
  for (const SuiteCase& one : load_suite(find_suite(GetParam())).cases) {
    EXPECT_TRUE(words.insert(one.problem.word()).second) << one.problem.word();
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(Problem::parse(one.problem.word()), one.problem);
  }
}

// One kind of contents shows what another hides.
TEST_P(CommittedSuite, ChecksEveryCaseOnTwoDistributions) {
  for (const SuiteCase& one : load_suite(find_suite(GetParam())).cases) {
    EXPECT_FALSE(decode(one.problem).fields().also.empty()) << one.problem.word();
  }
}

INSTANTIATE_TEST_SUITE_P(All, CommittedSuite, testing::ValuesIn(suite_names()), [](const auto& one) {
  return std::regex_replace(one.param, std::regex("[^A-Za-z0-9]"), "_");
});

TEST(Committed, SmokeAndEdgeHoldEveryDistribution) {
  for (const char* suite : {"smoke", "edge"}) {
    std::set<Distribution> seen;
    for (const SuiteCase& one : load_suite(find_suite(suite)).cases) {
      const DecodeProblem::Fields& fields = decode(one.problem).fields();
      seen.insert(fields.distribution);
      seen.insert(fields.also.begin(), fields.also.end());
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kDistributions)) << suite;
  }
}

TEST(Schema, RefusesWhatTheLoaderRefuses) {
  const nlohmann::json good = read_strict_json(find_suite("smoke"));
  const auto broken = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json document = good;
    document[nlohmann::json::json_pointer(pointer)] = value;
    return validate(document);
  };
  EXPECT_EQ(validate(good), "valid");
  EXPECT_NE(broken("/groops", 1), "valid");
  EXPECT_NE(broken("/schema/version", "2.0.0"), "valid");
  EXPECT_NE(broken("/groups", nlohmann::json::array()), "valid");
  EXPECT_NE(broken("/groups/0/name", "a b"), "valid");
  EXPECT_NE(broken("/groups/0/tp", "8"), "valid");
  EXPECT_NE(broken("/groups/0/zip/kv", 5), "valid");
  EXPECT_NE(broken("/groups/0/extra", 5), "valid");
}

TEST(KnownFailures, ListFollowsItsSchemaAndTheSchemaRefusesWhatTheReaderDoes) {
  constexpr const char* kSchema = "mla-harness-known-failures-1.0.schema.json";
  nlohmann::json list = read_strict_json(suites_directory() / "data" / "known-failures.json");
  EXPECT_EQ(validate(list, kSchema), "valid");
  list["known"] = {{{"problem", "decode:q=4"}, {"reason", "why"}, {"source", "where"}, {"expires", "2027-01-31"}}};
  EXPECT_EQ(validate(list, kSchema), "valid");
  list["known"][0]["expires"] = "soon";
  EXPECT_NE(validate(list, kSchema), "valid");
  list["known"][0].erase("expires");
  EXPECT_NE(validate(list, kSchema), "valid");
}

// A minute on two cores: context tokens are what the reference's time goes by.
TEST(Smoke, IsSmallAndHasTheHeadlineCase) {
  const Suite suite = load_suite(find_suite("smoke"));
  std::int64_t tokens = 0;
  std::set<std::string> words;
  for (const SuiteCase& one : suite.cases) {
    tokens += decode(one.problem).total_kv();
    words.insert(one.problem.word());
  }
  EXPECT_GE(suite.cases.size(), 16u);
  EXPECT_LE(suite.cases.size(), 24u);
  EXPECT_LE(tokens, 200'000);
  EXPECT_TRUE(words.contains(Problem::parse("decode:h=16,q=1,b=16,kv=4096").word()));
}

TEST(Models, HoldsEveryModelsScaleAndHeads) {
  std::set<std::pair<int, double>> seen;
  for (const SuiteCase& one : load_suite(find_suite("models")).cases) {
    const DecodeProblem::Fields& fields = decode(one.problem).fields();
    seen.insert({fields.heads, fields.sm_scale});
  }
  for (const auto& [model, tps] : std::map<std::string, std::vector<int>>{{"deepseek-v3", {1, 4, 8}},
                                                                          {"deepseek-r1", {1, 4, 8}},
                                                                          {"kimi-k2", {4, 8}},
                                                                          {"kimi-k2-thinking", {8}},
                                                                          {"glm-5", {4, 8}}}) {
    for (const int tp : tps) {
      EXPECT_TRUE(seen.contains({find_model(model).heads_per_rank(tp), find_model(model).sm_scale()})) << model << tp;
    }
  }
}

TEST(Models, StaysBelowTheMemoryItStates) {
  for (const SuiteCase& one : load_suite(find_suite("models")).cases) {
    EXPECT_LE(decode(one.problem).total_kv(), 128 * 16384) << one.name;
  }
}

// The numbers of the bugs that a source tag such as "bug 07: aiter#4711" names.
std::optional<int> bug_of(const std::string& source) {
  static const std::regex tag("^bug ([0-9]{2}): ");
  std::smatch match;
  if (!std::regex_search(source, match, tag)) return std::nullopt;
  return std::stoi(match[1]);
}

std::set<int> bugs_in(const std::string& suite) {
  std::set<int> bugs;
  for (const SuiteCase& one : load_suite(find_suite(suite)).cases) {
    if (const auto bug = bug_of(one.source)) bugs.insert(*bug);
  }
  return bugs;
}

TEST(Edge, EveryCaseSaysWhereItComesFromAndWhy) {
  for (const SuiteCase& one : load_suite(find_suite("edge")).cases) {
    EXPECT_FALSE(one.why.empty()) << one.name;
    EXPECT_TRUE(bug_of(one.source) || one.source.starts_with("contract: ") || one.source.starts_with("by inspection: "))
        << one.name << ": " << one.source;
  }
}

// Nothing in the catalogue of public bugs is lost: each is a case of a suite, or the catalogue says which test has it.
TEST(Edge, CoversTheCatalogue) {
  constexpr int kBugs = 55;
  const nlohmann::json document = read_strict_json(suites_directory() / "data" / "edge-coverage.json");
  const std::map<std::string, std::set<int>> by_suite = {{"edge", bugs_in("edge")}, {"nightly", bugs_in("nightly")}};
  std::set<int> listed;
  for (const nlohmann::json& bug : document.at("bugs")) {
    const int id = bug.at("id");
    EXPECT_TRUE(listed.insert(id).second) << id;
    bool elsewhere = false;
    for (const std::string place : bug.at("covered_by")) {
      const auto suite = by_suite.find(place);
      if (suite == by_suite.end()) {
        elsewhere = true;
      } else {
        EXPECT_TRUE(suite->second.contains(id)) << place << " has no case for bug " << id;
      }
    }
    EXPECT_EQ(bug.at("covered_by").empty(), bug.at("source").get<std::string>().empty()) << id;
    EXPECT_TRUE(!elsewhere || bug.contains("how")) << id;
  }
  for (int id = 1; id <= kBugs; ++id) EXPECT_TRUE(listed.contains(id)) << id;
  for (const auto& [suite, bugs] : by_suite) {
    for (const int id : bugs) {
      const auto& places = document.at("bugs").at(static_cast<std::size_t>(id - 1)).at("covered_by");
      EXPECT_NE(std::find(places.begin(), places.end(), suite), places.end()) << suite << " " << id;
    }
  }
}

// Small but for the cases whose bug needs size; those cost memory only where they are read.
TEST(Edge, StaysSmall) {
  double multiply_adds = 0;
  for (const SuiteCase& one : load_suite(find_suite("edge")).cases) {
    const DecodeProblem& problem = decode(one.problem);
    for (int request = 0; request < problem.batch(); ++request) {
      multiply_adds +=
          1088.0 * problem.fields().heads * problem.q_len(request) * static_cast<double>(problem.kv_len(request));
    }
  }
  EXPECT_LE(multiply_adds, 25e9);
}

TEST(Edge, HasTheSpecialValuesOfTheContract) {
  bool no_kv = false, no_q = false, kv_below_q = false, mixed_q = false, odd_heads = false, huge_pool = false;
  std::set<int> pages;
  for (const SuiteCase& one : load_suite(find_suite("edge")).cases) {
    const DecodeProblem& problem = decode(one.problem);
    const DecodeProblem::Fields& fields = problem.fields();
    for (int r = 0; r < problem.batch(); ++r) {
      no_kv = no_kv || problem.kv_len(r) == 0;
      no_q = no_q || (problem.q_len(r) == 0 && problem.total_q() > 0);
      kv_below_q = kv_below_q || (problem.kv_len(r) > 0 && problem.kv_len(r) < problem.q_len(r) && fields.causal);
    }
    mixed_q = mixed_q || fields.q_lens.size() > 1;
    odd_heads = odd_heads || fields.heads % 16 != 0;
    huge_pool = huge_pool || fields.pool_pages * fields.page_size * 576 > (std::int64_t{1} << 32);
    pages.insert(fields.page_size);
  }
  EXPECT_TRUE(no_kv && no_q && kv_below_q && mixed_q && odd_heads && huge_pool);
  EXPECT_THAT(pages, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));
}

TEST(Nightly, HoldsAllPairsWithinItsLimit) {
  std::set<std::pair<int, int>> heads_and_page;
  std::set<std::pair<int, int>> heads_and_batch;
  for (const SuiteCase& one : load_suite(find_suite("nightly")).cases) {
    const DecodeProblem& problem = decode(one.problem);
    if (!one.name.starts_with("pairs/")) continue;
    EXPECT_LE(problem.total_kv(), 1 << 20) << one.name;
    heads_and_page.insert({problem.fields().heads, problem.fields().page_size});
    heads_and_batch.insert({problem.fields().heads, problem.batch()});
  }
  EXPECT_EQ(heads_and_page.size(), 6u * 3);
  EXPECT_EQ(heads_and_batch.size(), 6u * 11);
}

// A row that a peer skips compares nothing: every bf16 row must be one that all peers take, at both numbers of heads.
TEST(Peers, Bf16RowsSuitEveryPeer) {
  std::map<int, std::set<std::pair<int, std::int64_t>>> batches;  // by heads: batch and tokens
  for (const SuiteCase& one : load_suite(find_suite("peers")).cases) {
    const DecodeProblem& problem = decode(one.problem);
    const DecodeProblem::Fields& fields = problem.fields();
    if (fields.kv_type != ElementType::bf16) continue;
    EXPECT_EQ(fields.page_size, 64) << one.name;
    EXPECT_EQ(fields.q_lens.size(), 1u) << one.name;
    EXPECT_EQ(fields.layout, Layout::dense) << one.name;
    batches[fields.heads].insert({problem.batch() * problem.q_len(0), problem.total_kv()});
  }
  EXPECT_EQ(batches.size(), 2u);
  EXPECT_GE(batches[16].size(), 12u);
  EXPECT_TRUE(std::includes(batches[128].begin(), batches[128].end(), batches[16].begin(), batches[16].end()));
}

TEST(Peers, RaggedLengthsSpreadFromHundredsToThousands) {
  int ragged = 0;
  for (const SuiteCase& one : load_suite(find_suite("peers")).cases) {
    const std::vector<std::int64_t>& lengths = decode(one.problem).fields().kv_lens;
    if (lengths.size() == 1) continue;
    ++ragged;
    EXPECT_EQ(lengths.size(), 128u) << one.name;
    const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
    EXPECT_GE(*shortest, 100) << one.name;
    EXPECT_LE(*longest, 16384) << one.name;
    EXPECT_GE(*longest, 50 * *shortest) << one.name;
  }
  EXPECT_EQ(ragged, 2);
}

TEST(Data, TracesNameTheirSourceAndLicence) {
  const nlohmann::json document = read_strict_json(suites_directory() / "data" / "trace-quantiles.json");
  for (const nlohmann::json& trace : document.at("traces")) {
    EXPECT_THAT(trace.at("source").get<std::string>(), testing::AnyOf(HasSubstr("Mooncake"), HasSubstr("Azure")));
    EXPECT_THAT(trace.at("licence").get<std::string>(), testing::AnyOf("Apache-2.0", "CC-BY-4.0"));
  }
}

}  // namespace
}  // namespace mla::harness
