// The pair subcommand from outside. The executables are scripts: what they check is real, their times are made up, so
// that a slower build is slower by exactly what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "suites/support/command.hpp"

namespace mla::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kProblem = "decode:h=1,kv=20,page=16";

/// A folder with executables, and the command over them.
class Pair {
 public:
  /// `launch`: shell commands that set $ns, the time of a launch; `otherwise`: what precedes all other subcommands.
  std::string executable(const std::string& name, const std::string& launch, const std::string& otherwise = ":") {
    const std::string path = folder_.file(name);
    std::ofstream(path) << "#!/bin/sh\n"
                           "if [ \"$1\" = launch ] && [ \"$2\" != --help ]; then\n"
                           "  timer=script\n"
                           "  echo "
                        << name << " >>" << folder_.file("log") << "\n"
                        << "  " << launch
                        << "\n"
                           "  ns=$((ns + $$ % 97))\n"  // a hundredth of a percent of noise
                           "  printf '{\"schema\": {\"name\": \"mla-harness-launch\", \"version\": \"1.3.0\"}, "
                           "\"timer\": \"%s\", \"cache\": \"hot\", \"samples_ns\": [%d, %d.5], \"clocks\": null}\\n' "
                           "$timer $ns $ns\n"
                           "  exit\n"
                           "fi\n"
                        << otherwise << "\nexec " << MLA_FAULTY_HARNESS << " \"$@\"\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  CommandResult run(const std::string& base, const std::string& next, std::vector<std::string> more = {},
                    std::optional<std::chrono::milliseconds> interrupt_after = std::nullopt) {
    std::vector<std::string> argv = {MLA_FAULTY_HARNESS, "pair", "--base", base, "--new", next, kProblem};
    for (const std::string option : {"--provider good", "--screen 4", "--confirm 4", "--progress never"}) {
      const std::string name = option.substr(0, option.find(' '));
      if (std::find(more.begin(), more.end(), name) == more.end())
        more.insert(more.end(), {name, option.substr(name.size() + 1)});
    }
    argv.insert(argv.end(), more.begin(), more.end());
    return run_command(argv, interrupt_after);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] json report() const { return json::parse(std::ifstream(file("c.json"))); }
  [[nodiscard]] int launches() const {
    std::ifstream log(file("log"));
    std::string line;
    int count = 0;
    while (std::getline(log, line)) ++count;
    return count;
  }

 private:
  TemporaryFolder folder_;
};

TEST(PairCommand, TheSameTimesAreOkAndTheReportHasEveryLaunch) {
  Pair pair;
  const std::string exe = pair.executable("base", "ns=1000000");
  const CommandResult result = pair.run(exe, exe, {"--out", pair.file("c.json"), "--markdown", pair.file("c.md")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("1 same"), HasSubstr("OK (exit 0)")));
  const json report = pair.report();
  EXPECT_EQ(report.at("schema").at("name"), "mla-harness-pair");
  EXPECT_EQ(report.at("status"), "complete");
  ASSERT_EQ(report.at("cases").size(), 1U);
  EXPECT_EQ(report.at("cases")[0].at("pairs").size(), 4U);
  EXPECT_EQ(report.at("cases")[0].at("decided_by"), "screen");
  EXPECT_EQ(pair.launches(), 8);
  EXPECT_FALSE(fs::exists(pair.file("c.jsonl"))) << "the journal of a finished comparison goes";
  EXPECT_TRUE(fs::exists(pair.file("c.md")));
}

TEST(PairCommand, ASlowerBuildIsARegressionOnFreshPairs) {
  Pair pair;
  const CommandResult result = pair.run(pair.executable("base", "ns=1000000"), pair.executable("new", "ns=1050000"),
                                        {"--out", pair.file("c.json")});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("REGRESSED (1)"), HasSubstr("+5.0 %")));
  EXPECT_EQ(pair.launches(), 16);
  EXPECT_EQ(pair.report().at("cases")[0].at("decided_by"), "confirm");
  EXPECT_EQ(pair.run(pair.file("base"), pair.file("new"), {"--margin", "10"}).exit_code, 0);
}

TEST(PairCommand, AWrongResultAndALaunchThatCrashesAreWrong) {
  Pair pair;
  const std::string base = pair.executable("base", "ns=1000000");
  const std::string crashes = pair.executable("crashes", "kill -SEGV $$");
  const CommandResult result = pair.run(base, crashes);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, HasSubstr("a launch of NEW was killed by signal 11"));
  EXPECT_EQ(pair.run(base, base, {"--provider", "wrong-value"}).exit_code, 2);
}

TEST(PairCommand, TimesByDifferentClocksAreAnInvalidComparison) {
  Pair pair;
  const CommandResult result =
      pair.run(pair.executable("base", "ns=1000000"), pair.executable("new", "ns=1000000; timer=sundial"));
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("timer differs: script and sundial"));
}

TEST(PairCommand, ACaseThatNewDoesNotHaveIsMissing) {
  Pair pair;
  const std::string base = pair.executable("base", "ns=1000000");
  const std::string fewer = pair.executable("fewer", "ns=1000000", "[ \"$1\" != run ] || set -- \"$@\" --filter kv=20");
  EXPECT_EQ(pair.run(base, fewer, {"decode:h=1,kv=21"}).exit_code, 5);
  EXPECT_EQ(pair.run(base, fewer, {"decode:h=1,kv=21", "--allow-missing"}).exit_code, 0);
}

TEST(PairCommand, LaunchesTakeTurnsWhereBothBuildsKnowHow) {
  Pair pair;
  const std::string exe = pair.executable("base", "ns=1000000");
  const std::string old = pair.executable("old", "ns=1000000", "[ \"$1\" != launch ] || exit 0");
  const auto alternation = [&](const std::string& next, std::vector<std::string> more) {
    more.insert(more.end(), {"--out", pair.file("c.json")});
    EXPECT_EQ(pair.run(exe, next, more).exit_code, 0);
    return pair.report().at("design").at("alternation").get<std::string>();
  };
  EXPECT_EQ(alternation(exe, {}), "turns");
  EXPECT_EQ(alternation(exe, {"--alternate", "launches"}), "launches");
  EXPECT_EQ(alternation(old, {}), "launches");
}

TEST(PairCommand, BothLaunchesOfAPairThatTakesTurnsMeasure) {
  Pair pair;
  const CommandResult result = pair.run(
      MLA_FAULTY_HARNESS, MLA_FAULTY_HARNESS,
      {"--screen", "3", "--confirm", "0", "--warmup", "0.001", "--budget", "0.03", "--out", pair.file("c.json")});
  EXPECT_THAT(result.exit_code, ::testing::AnyOf(0, 1)) << result.err;
  const json pairs = pair.report().at("cases")[0].at("pairs");
  ASSERT_EQ(pairs.size(), 3U);
  for (const json& one : pairs) {
    for (const char* side : {"base", "new"}) EXPECT_GE(one.at(side).at("samples_ns").size(), 5U);
  }
}

TEST(PairCommand, BadInputIsOneLine) {
  Pair pair;
  const std::string base = pair.executable("base", "ns=1000000");
  const auto refused = [&](const CommandResult& result, const char* text) {
    EXPECT_EQ(result.exit_code, 4) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  refused(pair.run(base, "/nonexistent"), "--new = '/nonexistent': an executable file is needed");
  refused(pair.run(base, "/bin/false"), "--new = '/bin/false': does not know the subcommand `launch`");
  refused(pair.run(base, base, {"--provider", "none"}), "--base");
  refused(pair.run(base, base, {"decode:kv=none"}), "kv");
  refused(pair.run(base, base, {"--resume"}), "--out");
  refused(pair.run(base, base, {"--confirm", "1"}), "--confirm");
  refused(pair.run(base, base, {"--looks", "0"}), "--looks");
  refused(pair.run(base, base, {"--alternate", "cases"}), "--alternate");
}

TEST(PairCommand, CtrlCKeepsFinishedPairsAndResumeGoesOn) {
  Pair pair;
  const std::string exe = pair.executable("base", "ns=1000000; sleep 0.05");
  const std::vector<std::string> out = {"--out", pair.file("c.json"), "--screen", "20"};
  const CommandResult stopped = pair.run(exe, exe, out, std::chrono::milliseconds(1000));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  ASSERT_TRUE(fs::exists(pair.file("c.jsonl")));
  const int before = pair.launches();
  ASSERT_LT(before, 40) << "stopped too late to show anything";
  const CommandResult other = pair.run(exe, exe, {"--out", pair.file("c.json"), "--screen", "19", "--resume"});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.err, HasSubstr("screen_pairs was 20 and now is 19"));
  std::vector<std::string> resume = out;
  resume.emplace_back("--resume");
  EXPECT_EQ(pair.run(exe, exe, resume).exit_code, 0);
  EXPECT_EQ(pair.report().at("cases")[0].at("pairs").size(), 20U);
  // Of the pair that was interrupted, one launch or none was done, and one that was begun is in the log.
  EXPECT_LE(pair.launches(), 42);
  EXPECT_GE(pair.launches(), 40);
}

}  // namespace
}  // namespace mla::test
