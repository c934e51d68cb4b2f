// The run subcommand from outside: verdicts, exit codes, reports, resume and shards, over providers that fail on
// purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "suites/support/command.hpp"

namespace mla::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

CommandResult harness(std::vector<std::string> arguments,
                      std::optional<std::chrono::milliseconds> interrupt_after = std::nullopt) {
  arguments.insert(arguments.begin(), MLA_FAULTY_HARNESS);
  return run_command(arguments, interrupt_after);
}

json read_json(const std::string& path) {
  return json::parse(std::ifstream(path));
}

std::map<std::string, std::string> verdicts_of(const json& report) {
  std::map<std::string, std::string> verdicts;
  for (const json& item : report.at("cases"))
    verdicts[item.at("provider").get<std::string>()] = item.at("verdict").get<std::string>();
  return verdicts;
}

std::string reason_of(const json& report, const std::string& provider) {
  for (const json& item : report.at("cases")) {
    if (item.at("provider") == provider) return item.at("reason").at("kind").get<std::string>();
  }
  return "(no such case)";
}

std::string message_of(const json& report, const std::string& provider) {
  for (const json& item : report.at("cases")) {
    if (item.at("provider") == provider) return item.at("reason").at("message").get<std::string>();
  }
  return "(no such case)";
}

const std::string kProblem = "decode:h=3,q=2,b=2,kv=70,page=16";

TEST(Run, EveryKindOfFaultCostsItsOwnCaseOnly) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const CommandResult result = harness({"run", kProblem, "--out", out, "--timeout", "3", "--mode", "C"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  const json report = read_json(out);
  const std::map<std::string, std::string> expected = {
      {"good", "passed"},          {"wrong-value", "failed"},        {"nan", "failed"},
      {"out-of-bounds", "failed"}, {"unwritten", "failed"},          {"unrepeatable", "failed"},
      {"throws", "failed"},        {"writes-inputs", "failed"},      {"writes-past-inputs", "failed"},
      {"aborts", "crashed"},       {"segfaults", "crashed"},         {"exits", "crashed"},
      {"hangs", "timeout"},        {"keeps-first-answer", "failed"}, {"reads-past-inputs", "crashed"},
      {"adds-to-output", "failed"}};
  EXPECT_EQ(verdicts_of(report), expected);
  EXPECT_EQ(reason_of(report, "writes-inputs"), "inputs_changed");
  EXPECT_EQ(reason_of(report, "writes-past-inputs"), "inputs_changed");
  EXPECT_EQ(reason_of(report, "unrepeatable"), "not_repeatable");
  EXPECT_EQ(reason_of(report, "throws"), "exception");
  EXPECT_EQ(reason_of(report, "adds-to-output"), "not_repeatable");
  EXPECT_EQ(reason_of(report, "reads-past-inputs"), "signal");
  EXPECT_THAT(message_of(report, "reads-past-inputs"), HasSubstr("`kv` accessed 64 bytes past its end"));
  EXPECT_EQ(reason_of(report, "keeps-first-answer"), "stale_answer");
  EXPECT_THAT(message_of(report, "keeps-first-answer"),
              HasSubstr("on sharp contents: the answer is that of the randn"));
  EXPECT_EQ(report.at("summary").at("failed"), 10);
  EXPECT_EQ(report.at("run").at("status"), "complete");
}

TEST(Run, ACaseSaysWhatItCouldHaveShown) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  ASSERT_EQ(harness({"run", kProblem, "--provider", "good", "--out", out, "--mode", "C"}).exit_code, 0);
  const json correctness = read_json(out).at("cases").at(0).at("correctness");
  EXPECT_EQ(correctness.at("distributions").at("sharp").at("tiers").at("stat").at("verdict"), "passed");
  EXPECT_THAT(correctness.at("probes"), ::testing::SizeIs(6));
  for (const json& probe : correctness.at("probes")) EXPECT_EQ(probe.at("verdict"), "passed") << probe;
  for (const char* fault : {"dropped_token", "scale_1_percent", "mask_shift"}) {
    EXPECT_GT(correctness.at("detectability").at(fault).at("probes"), 3) << fault;
  }
}

// Equal weights tell nothing of the softmax scale, and with these fp8 scales q cannot hold a probe's logits either.
TEST(Run, ACaseThatCouldNotHaveShownAFaultIsMistrusted) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const CommandResult result = harness({"run", "decode:h=1,kv=64,dtype=fp8,dist=uniform,qs=1e-06,ks=1e-06",
                                        "--provider", "good", "--out", out, "--mode", "C"});
  EXPECT_EQ(result.exit_code, 2);
  const json item = read_json(out).at("cases").at(0);
  EXPECT_EQ(item.at("verdict"), "mistrusted");
  EXPECT_EQ(item.at("reason").at("kind"), "undetectable");
  EXPECT_THAT(item.at("reason").at("message"), HasSubstr("a softmax scale 1 % off would not show"));
}

TEST(Run, EachLaunchIsAProcessOfItsOwnAndKeepsItsSamples) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const CommandResult result = harness({"run", "decode:h=1,kv=20", "--provider", "good", "--mode", "P", "--launches",
                                        "2", "--warmup", "0", "--budget", "0", "--cache", "cold", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json performance = read_json(out).at("cases").at(0).at("performance");
  EXPECT_EQ(performance.at("launch_samples_ns").size(), 2U);
  EXPECT_THAT(performance.at("cache").get<std::string>(), HasSubstr("rotate:"));
  EXPECT_TRUE(performance.contains("clocks"));
}

TEST(Run, AFailureIsPrintedWithTheCommandThatRepeatsIt) {
  const CommandResult result = harness({"run", kProblem, "--provider", "wrong-value", "--mode", "C"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("mla-harness run " + kProblem + " --provider wrong-value"));
}

TEST(Run, AWordFromAReportReproducesTheCase) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.json");
  const std::string second = folder.file("second.json");
  ASSERT_EQ(harness({"run", "decode:q=1+3,kv=17+40,dtype=fp8,seed=7,h=5", "--provider", "good", "--out", first,
                     "--mode", "C"})
                .exit_code,
            0);
  const json original = read_json(first).at("cases").at(0);
  const auto word = original.at("problem").get<std::string>();
  ASSERT_EQ(harness({"run", word, "--provider", "good", "--out", second, "--mode", "C"}).exit_code, 0);
  const json repeated = read_json(second).at("cases").at(0);
  EXPECT_EQ(repeated.at("key"), original.at("key"));
  EXPECT_EQ(repeated.at("input_digest"), original.at("input_digest"));
}

TEST(Run, MeasuresOnlyWhatPassed) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  EXPECT_EQ(harness({"run", kProblem, "--provider", "good,wrong-value", "--out", out}).exit_code, 2);
  const json report = read_json(out);
  ASSERT_EQ(report.at("cases").size(), 2U);
  for (const json& item : report.at("cases")) {
    EXPECT_EQ(item.contains("performance") && !item.at("performance").is_null(), item.at("verdict") == "passed")
        << item.at("key");
  }
}

TEST(Run, InterruptionLeavesAValidReportAndResumeFinishesIt) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const std::vector<std::string> arguments = {
      "run", kProblem, "--provider", "good,hangs,wrong-value", "--out", out, "--mode", "C", "--timeout", "4"};
  const CommandResult interrupted = harness(arguments, std::chrono::milliseconds(2000));
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.err;
  const json partial = read_json(out);
  EXPECT_EQ(partial.at("run").at("status"), "interrupted");
  EXPECT_THAT(verdicts_of(partial), AllOf(Contains(Pair("good", "passed")), Not(Contains(Key("wrong-value")))));

  std::vector<std::string> again = arguments;
  again.emplace_back("--resume");
  EXPECT_EQ(harness(again).exit_code, 2);
  const json complete = read_json(out);
  EXPECT_EQ(complete.at("run").at("status"), "complete");
  EXPECT_EQ(verdicts_of(complete),
            (std::map<std::string, std::string>{{"good", "passed"}, {"hangs", "timeout"}, {"wrong-value", "failed"}}));
}

TEST(Run, ShardsTogetherAreTheWhole) {
  const TemporaryFolder folder;
  std::vector<std::string> merge = {"merge"};
  std::vector<std::string> problems;
  for (int i = 1; i <= 7; ++i) problems.push_back("decode:h=2,kv=" + std::to_string(i));
  for (int shard = 1; shard <= 3; ++shard) {
    const std::string out = folder.file("shard" + std::to_string(shard) + ".json");
    std::vector<std::string> run = {
        "run", "--provider", "good", "--mode", "C", "--out", out, "--shard", std::to_string(shard) + "/3"};
    run.insert(run.end(), problems.begin(), problems.end());
    ASSERT_EQ(harness(run).exit_code, 0);
    merge.push_back(out);
  }
  const std::string whole = folder.file("whole.json");
  merge.insert(merge.end(), {"--out", whole});
  ASSERT_EQ(harness(merge).exit_code, 0);
  std::set<std::string> keys;
  const json report = read_json(whole);
  for (const json& item : report.at("cases")) keys.insert(item.at("problem").get<std::string>());
  EXPECT_EQ(keys, (std::set<std::string>(problems.begin(), problems.end())));
}

TEST(Run, JUnitAndQuietProgress) {
  const TemporaryFolder folder;
  const std::string junit = folder.file("junit.xml");
  const CommandResult result =
      harness({"run", kProblem, "--provider", "good", "--mode", "C", "--junit", junit, "--progress", "never"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(std::filesystem::exists(junit));
}

TEST(Run, DryRunRunsNothing) {
  const CommandResult result = harness({"run", kProblem, "--provider", "hangs,aborts", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("1 problems, 2 cases"));
}

TEST(Run, SeedIsPartOfTheWord) {
  const CommandResult result = harness({"run", kProblem, "--provider", "wrong-value", "--seed", "9", "--mode", "C"});
  EXPECT_THAT(result.err, HasSubstr(kProblem + ",seed=9"));
}

// --- shrink ---------------------------------------------------------------------------------------------------------

// A crash and a hang of the provider are failures to shrink like any other; `hangs` costs a time limit a try.
TEST(Shrink, ReducesACrash) {
  const CommandResult result = harness({"shrink", "decode:h=3,b=2,kv=7", "--provider", "segfaults"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("decode:h=1,kv=1\n"));
  EXPECT_THAT(result.out, HasSubstr("crashed: the provider's process"));
}

TEST(Shrink, ReducesAHang) {
  const CommandResult result = harness({"shrink", "decode:h=2,kv=1", "--provider", "hangs", "--timeout", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("decode:h=1,kv=1\n"));
  EXPECT_THAT(result.out, HasSubstr("timeout: the provider's process"));
}

// The contents alone take longer than the limit: nothing is known of the provider, which would have been right.
TEST(Shrink, TakesNoTimeLimitOfTheOracleForTheProvidersFailure) {
  const CommandResult result =
      harness({"shrink", "decode:h=128,q=8,kv=200000", "--provider", "good", "--timeout", "0.1"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("a problem that fails on good is needed, and this one is timeout: the oracle's"));
}

class BadCommandLine : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(BadCommandLine, IsOneLineAndExitFour) {
  const CommandResult result = harness(GetParam());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_LT(result.err.size(), 700U);
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadCommandLine,
    ::testing::Values(std::vector<std::string>{}, std::vector<std::string>{"nonsense"}, std::vector<std::string>{"run"},
                      std::vector<std::string>{"run", "no-such-suite"}, std::vector<std::string>{"run", "decode:h=0"},
                      std::vector<std::string>{"run", "decode:", "--provider", "nobody"},
                      std::vector<std::string>{"run", "decode:q=9", "--provider", "good"},
                      std::vector<std::string>{"run", "decode:kv=-1", "--provider", "good"},
                      std::vector<std::string>{"run", "decode:dtype=e4m3fn.e4m3fnuz", "--provider", "good"},
                      std::vector<std::string>{"run", "decode:", "--shard", "3/2"},
                      std::vector<std::string>{"run", "decode:", "--shard", "1"},
                      std::vector<std::string>{"run", "decode:", "--filter", "("},
                      std::vector<std::string>{"run", "decode:", "--filter", "matches nothing"},
                      std::vector<std::string>{"run", "decode:", "--mode", "X"},
                      std::vector<std::string>{"run", "decode:", "--timeout", "-1"},
                      std::vector<std::string>{"run", "decode:", "--timeout", "soon"},
                      std::vector<std::string>{"run", "decode:", "--seed", "-5"},
                      std::vector<std::string>{"run", "decode:", "--resume"},
                      std::vector<std::string>{"run", "decode:", "--unknown"},
                      std::vector<std::string>{"run", "/dev/null"}, std::vector<std::string>{"run", "/tmp"},
                      std::vector<std::string>{"compare", "only-one.json"},
                      std::vector<std::string>{"compare", "/nonexistent.json", "/nonexistent.json"},
                      std::vector<std::string>{"explain", "decode:page=48"}, std::vector<std::string>{"explain"}));

}  // namespace
}  // namespace mla::test
