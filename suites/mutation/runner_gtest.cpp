// From outside, as a person meets a fault: caught, said in plain words, shrunk to a small problem. Over the command
// line with the emulated kernels as its providers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "suites/support/command.hpp"

namespace mla::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CommandResult mutants(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MLA_MUTANTS);
  return run_command(arguments);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The words that a bf16 kernel's user must get for each fault, and the size that the problem must shrink to.
struct Story {
  std::string word;
  std::string fault;
  std::string says;
  std::string smallest;
};

void PrintTo(const Story& story, std::ostream* out) {
  *out << story.fault << " on " << story.word;
}

class Caught : public ::testing::TestWithParam<Story> {};

TEST_P(Caught, LocalisedAndShrunk) {
  const Story& story = GetParam();
  const CommandResult run =
      mutants({"run", story.word, "--provider", "clean," + story.fault, "--mode", "C", "--progress", "always"});
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.out, HasSubstr("passed 1, failed 1"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("looks like: "), HasSubstr(story.says)));

  const CommandResult shrunk = mutants({"shrink", story.word, "--provider", story.fault, "--budget", "100"});
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  const std::string word = first_line(shrunk.out);
  EXPECT_EQ(word, story.smallest);
  EXPECT_THAT(shrunk.out, HasSubstr("mla-harness run " + word + " --provider " + story.fault + " --mode C"));
  EXPECT_EQ(mutants({"run", word, "--provider", story.fault, "--mode", "C"}).exit_code, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Stories, Caught,
    ::testing::Values(Story{"decode:h=64,kv=4096", "M1.middle.one-head", "token 2048 of 4096", "decode:h=1,kv=2"},
                      Story{"decode:h=64,b=2,kv=2000+4096", "M4.high", "the logits are 1.01", "decode:h=1,kv=1"},
                      Story{"decode:h=16,b=3,q=2,kv=640+1000+128,page=16", "M7.tail", "unused tail", "decode:h=1,kv=1"},
                      Story{"decode:h=64,kv=4096", "M8.output", "tokens 2048 to 3071", "decode:h=2,kv=2"},
                      Story{"decode:h=16,b=2,kv=1000+2000,dtype=bf16.fp8", "M14.ignored", "kv_scale is ignored",
                            "decode:h=1,kv=1,dtype=bf16.fp8"}));

TEST(Shrink, RefusesAProblemThatPasses) {
  const CommandResult result = mutants({"shrink", "decode:h=2,kv=70", "--provider", "clean"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("a problem that fails on clean is needed, and this one is passed"));
}

TEST(Shrink, IsDeterministic) {
  const std::vector<std::string> arguments = {"shrink", "decode:h=9,b=2,q=3,kv=300+70,page=16", "--provider", "M22"};
  EXPECT_EQ(mutants(arguments).out, mutants(arguments).out);
}

TEST(Shrink, StopsAtItsBudget) {
  const CommandResult result =
      mutants({"shrink", "decode:h=64,b=4,q=4,kv=3000,dtype=fp8,dist=needle", "--provider", "M22", "--budget", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(first_line(result.out), StartsWith("decode:"));
}

/// Faults that show between launches, which only a whole case has.
TEST(WholeCase, RaceIsCaught) {
  const CommandResult run = mutants({"run", "decode:h=4,kv=200", "--provider", "M19", "--mode", "C"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("other bits"));
}

TEST(WholeCase, CachedAnswerIsCaught) {
  const CommandResult run = mutants({"run", "decode:h=4,kv=200", "--provider", "M20", "--mode", "C"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("on sharp contents: the answer is that of the randn contents"));
}

// --- metamorphic relations ------------------------------------------------------------------------------------------

json metamorphic_of(const std::string& word, const std::string& provider, int expected_exit) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const CommandResult run =
      mutants({"run", word, "--provider", provider, "--mode", "C", "--metamorphic", "--out", out});
  EXPECT_EQ(run.exit_code, expected_exit) << run.err;
  const json entry = json::parse(std::ifstream(out)).at("cases").at(0);
  EXPECT_EQ(entry.at("repro"), "mla-harness run " + word + " --provider " + provider + " --mode C --metamorphic");
  return entry;
}

TEST(Metamorphic, EveryRelationHoldsForASoundKernel) {
  const json entry = metamorphic_of("decode:h=5,q=2+1+3,b=3,kv=300+70+5,page=16", "clean", 0);
  std::set<std::string> passed;
  for (const json& relation : entry.at("metamorphic")) {
    EXPECT_NE(relation.at("verdict"), "failed") << relation;
    if (relation.at("verdict") == "passed") passed.insert(relation.at("relation").get<std::string>());
  }
  EXPECT_EQ(passed, (std::set<std::string>{"page_size", "page_permutation", "split_count", "batch_order",
                                           "head_padding", "single_decodes", "chunked", "replay"}));
}

TEST(Metamorphic, ContextParallelAppliesToSingleQueries) {
  const json entry = metamorphic_of("decode:h=3,b=2,kv=200+1,dtype=fp8", "clean", 0);
  for (const json& relation : entry.at("metamorphic")) {
    if (relation.at("relation") == "context_parallel") {
      EXPECT_EQ(relation.at("verdict"), "passed") << relation;
    }
    if (relation.at("relation") == "single_decodes") {
      EXPECT_EQ(relation.at("verdict"), "skipped");
      EXPECT_EQ(relation.at("message"), "no request has several query tokens");
    }
  }
}

// --- known failures -------------------------------------------------------------------------------------------------

class Known : public ::testing::Test {
 protected:
  // Runs M22, M18 and the clean kernel on one problem with a list of one entry.
  json run_with(const json& entry, int expected_exit) {
    const std::string list = folder_.file("known.json");
    const std::string out = folder_.file("report.json");
    std::ofstream(list) << json{{"schema", {{"name", "mla-harness-known-failures"}, {"version", "1.0.0"}}},
                                {"known", json::array({entry})}};
    result_ = mutants(
        {"run", "decode:h=2,q=2,kv=70", "--provider", "clean,M18,M22", "--mode", "C", "--known", list, "--out", out});
    EXPECT_EQ(result_.exit_code, expected_exit) << result_.err;
    std::ifstream report(out);
    return report ? json::parse(report) : json();
  }

  static std::string verdict(const json& report, const std::string& provider) {
    for (const json& item : report.at("cases")) {
      if (item.at("provider") == provider) return item.at("verdict").get<std::string>();
    }
    return "(none)";
  }

  static json entry(const std::string& problem, const std::string& provider, const std::string& expires) {
    return {{"problem", problem},
            {"provider", provider},
            {"reason", "sign lost"},
            {"source", "vendor/kernels#7"},
            {"expires", expires}};
  }

  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(Known, AnEntryCoversItsProviderAndNoOther) {
  const json report = run_with(entry("decode:q=2", "M22", "2999-12-31"), 2);
  EXPECT_EQ(verdict(report, "M22"), "known_failure");
  EXPECT_EQ(verdict(report, "M18"), "failed");
  EXPECT_EQ(verdict(report, "clean"), "passed");
  const json& known = report.at("cases").at(2).at("known_failure");
  EXPECT_EQ(known.at("source"), "vendor/kernels#7");
  EXPECT_EQ(known.at("verdict"), "failed");
}

TEST_F(Known, FailuresThatAreAllKnownDoNotFailTheRun) {
  json any = entry("decode:", "", "2999-12-31");
  any.erase("provider");
  const json report = run_with(any, 2);
  EXPECT_EQ(verdict(report, "M18"), "known_failure");
  EXPECT_EQ(verdict(report, "clean"), "unexpected_pass");
  EXPECT_THAT(result_.err, HasSubstr("remove the entry"));
}

TEST_F(Known, OtherFieldsOtherKindsAndOtherTargetsDoNotMatch) {
  EXPECT_EQ(verdict(run_with(entry("decode:q=3", "M22", "2999-12-31"), 2), "M22"), "failed");
  json kind = entry("decode:", "M22", "2999-12-31");
  kind["kind"] = "signal";
  EXPECT_EQ(verdict(run_with(kind, 2), "M22"), "failed");
  json target = entry("decode:", "M22", "2999-12-31");
  target["target"] = "gfx950";
  EXPECT_EQ(verdict(run_with(target, 2), "M22"), "failed");
  target["target"] = "cpu";
  EXPECT_EQ(verdict(run_with(target, 2), "M22"), "known_failure");
}

TEST_F(Known, AnExpiredEntryIsReportedAndChangesNothing) {
  const json report = run_with(entry("decode:", "M22", "2020-01-31"), 2);
  EXPECT_EQ(verdict(report, "M22"), "failed");
  EXPECT_TRUE(report.at("cases").at(2).at("known_failure").at("expired").get<bool>());
  EXPECT_THAT(result_.err, HasSubstr("known failure expired on 2020-01-31: decode:"));
  EXPECT_THAT(result_.err, HasSubstr("(a known failure until 2020-01-31: vendor/kernels#7)"));
}

TEST_F(Known, MalformedListsAreRefusedInOneLine) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{{"expires", "soon"},
                                                                            {"expires", "2026-13-01"},
                                                                            {"problem", "decode:page=48"},
                                                                            {"reason", ""},
                                                                            {"surplus", 1}}) {
    json spoiled = entry("decode:", "M22", "2999-12-31");
    spoiled[key] = value;
    (void)run_with(spoiled, 4);
    EXPECT_THAT(result_.err, AllOf(HasSubstr("/known/0"), HasSubstr(key)));
    EXPECT_EQ(std::count(result_.err.begin(), result_.err.end(), '\n'), 1) << result_.err;
  }
}

}  // namespace
}  // namespace mla::test
