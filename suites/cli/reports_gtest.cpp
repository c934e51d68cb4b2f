// The commands that read reports: what they write, and what they say of a report that is not right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "suites/support/command.hpp"

namespace mla::test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

CommandResult harness(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MLA_HARNESS);
  return run_command(arguments);
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A report of schema 1.0 with the passed cases of the golden file.
Json passed_report() {
  Json report = Json::parse(contents_of(MLA_GOLDEN_REPORT));
  Json cases = Json::array();
  for (const Json& entry : report["cases"]) {
    if (entry["verdict"] == "passed") cases.push_back(entry);
  }
  for (auto& [name, value] : report["summary"].items()) {
    if (value.is_number_integer()) value = name == "total" || name == "passed" ? cases.size() : 0;
  }
  report["cases"] = std::move(cases);
  return report;
}

class Reports : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name), std::ios::binary) << text;
    return folder_.file(name);
  }
  std::string write(const std::string& name, const Json& report) { return write(name, report.dump(1)); }

  TemporaryFolder folder_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(Reports, BrokenOnesEndACompareWithExitFourAndOneLine) {
  const std::string good = write("good.json", passed_report());
  const std::string text = contents_of(good);
  struct Broken {
    std::string name;
    std::string text;
    std::string says;
  };
  const std::vector<Broken> broken = {
      {"truncated.json", text.substr(0, text.size() / 2), "truncated: the JSON text ends at byte"},
      {"empty.json", "", "the file is empty"},
      {"foreign.json", R"({"context": {}, "benchmarks": []})", "no mla-harness-report"},
      {"newer-major.json", replaced(text, R"("version": "1.0.0")", R"("version": "2.0.0")"), "reads major version 1"},
      {"nan.json", replaced(text, R"("median_ns": 811500.0)", R"("median_ns": NaN)"), "not valid JSON at byte"},
      {"edited.json", replaced(text, R"("median_ns": 811500.0)", R"("median_ns": 81150.0)"),
       "must lie within launch_samples_ns"},
      {"repeated.json", replaced(text, R"("verdict": "passed")", R"("verdict": "passed", "verdict": "passed")"),
       "member 'verdict' occurs twice"},
  };
  for (const Broken& one : broken) {
    const std::string path = write(one.name, one.text);
    for (const auto& arguments :
         {std::vector<std::string>{"compare", good, path}, {"compare", path, good}, {"report", path}}) {
      const CommandResult result = harness(arguments);
      EXPECT_EQ(result.exit_code, 4) << one.name;
      EXPECT_EQ(result.out, "") << one.name;
      EXPECT_THAT(result.err, AllOf(StartsWith("mla-harness: " + path + ": "), HasSubstr(one.says)));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
  }
}

TEST_F(Reports, OlderAndNewerMinorsAreCompared) {
  const std::string old = write("old.json", passed_report());
  Json report = passed_report();
  report["schema"]["version"] = "1.99.0";
  report["cases"][0]["novelty"] = 1;
  const CommandResult result = harness({"compare", old, write("new.json", report)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("is newer than"));
  EXPECT_THAT(result.out, HasSubstr("OK (exit 0)"));
}

TEST_F(Reports, CompareWritesItsPageAndItsSummaryWithALink) {
  const std::string base = write("base.json", passed_report());
  const std::string page = folder_.file("out.html");
  const std::string markdown = folder_.file("out.md");
  const CommandResult result =
      harness({"compare", base, base, "--html", page, "--markdown", markdown, "--link", "https://ci.example/7"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(contents_of(page), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("\"view\":\"compare\"")));
  EXPECT_THAT(contents_of(markdown), HasSubstr("[Dashboard](https://ci.example/7)"));
}

TEST_F(Reports, FloorsAreLearntFromTwoRunsAndUsedWithCanaries) {
  const std::string first = write("first.json", passed_report());
  Json report = passed_report();
  report["run"]["id"] = "another";
  const std::string again = write("again.json", report);
  const std::string margins = folder_.file("margins.json");
  EXPECT_EQ(harness({"compare", first, first, "--floors-out", margins}).exit_code, 4) << "the same run twice";
  EXPECT_FALSE(std::filesystem::exists(margins));
  for (const char* known : {"1 comparison\n", "2 comparisons\n"}) {
    const CommandResult learnt = harness({"compare", first, again, "--floors-out", margins});
    EXPECT_EQ(learnt.exit_code, 0) << learnt.err;
    EXPECT_THAT(learnt.out, HasSubstr(std::string("which now knows ") + known));
  }
  EXPECT_EQ(harness({"compare", first, again, "--margins", margins, "--canary", "* @torch"}).exit_code, 0);
  EXPECT_EQ(harness({"compare", first, again, "--canary", "* @nobody"}).exit_code, 3);
  const CommandResult bad = harness({"compare", first, again, "--margins", first});
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_THAT(bad.err, AllOf(StartsWith("mla-harness: " + first + ": "), HasSubstr("unknown member")));
}

TEST_F(Reports, EveryFormatToAFileOrToStandardOutput) {
  const std::string report = write("report.json", passed_report());
  for (const char* format : {"csv", "custom", "gbench", "junit", "markdown", "prometheus"}) {
    const std::string out = folder_.file(std::string("out.") + format);
    EXPECT_EQ(harness({"report", report, "--format", format, "--out", out}).exit_code, 0) << format;
    EXPECT_EQ(harness({"report", report, "--format", format}).out, contents_of(out)) << format;
    EXPECT_FALSE(contents_of(out).empty()) << format;
  }
  EXPECT_EQ(harness({"report", report, "--format", "yaml"}).exit_code, 4);
  EXPECT_EQ(harness({"report", report, "--out", "x"}).exit_code, 4);
}

TEST_F(Reports, DirectoryShowsTheNewestWithItsHistory) {
  for (int night = 0; night < 6; ++night) {
    Json report = passed_report();
    report["run"]["id"] = "night-" + std::to_string(night);
    report["run"]["started_utc"] = "2026-12-0" + std::to_string(night + 1) + "T01:00:00Z";
    // The last two nights are 20 % slower.
    auto& performance = report["cases"][0]["performance"];
    const double factor = night < 4 ? 1 : 1.2;
    for (auto& sample : performance["launch_samples_ns"][0]) sample = sample.get<double>() * factor;
    performance["median_ns"] = performance["median_ns"].get<double>() * factor;
    for (auto& bound : performance["ci95_ns"]) bound = bound.get<double>() * factor;
    write("history/night-" + std::to_string(night) + ".json", report);
  }
  write("history/foreign.json", std::string("{}"));
  const std::string page = folder_.file("out.html");
  const CommandResult written = harness({"report", folder_.file("history"), "--html", page});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.err, AllOf(HasSubstr("note: skipped "), HasSubstr("foreign.json: no mla-harness-report")));
  EXPECT_THAT(contents_of(page), AllOf(HasSubstr("\"id\":\"night-5\""), HasSubstr("\"history\":{\"groups\"")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("history/mla-history.sqlite")));
  const CommandResult text = harness({"report", folder_.file("history")});
  EXPECT_THAT(text.out, AllOf(HasSubstr("6 runs since 2026-12-01"), HasSubstr("+20.0 %"), HasSubstr("2026-12-05")));

  std::filesystem::create_directories(folder_.file("nothing"));
  const CommandResult none = harness({"report", folder_.file("nothing")});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.err, HasSubstr("no report in it"));
}

TEST_F(Reports, DoctorSaysWhatTheDashboardCanDraw) {
  EXPECT_THAT(harness({"doctor"}).out, HasSubstr("\ndashboard "));
}

}  // namespace
}  // namespace mla::test
