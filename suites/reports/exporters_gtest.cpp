// JUnit and the terminal summary.
#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "reports/export/junit.hpp"
#include "reports/summary.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

reports::Report example() {
  return reports::parse_report(example_report());
}

pugi::xml_document parsed(const std::string& xml) {
  pugi::xml_document document;
  const auto result = document.load_string(xml.c_str());
  EXPECT_TRUE(result) << result.description();
  return document;
}

std::string outcome_of(const pugi::xml_document& document, std::string_view key) {
  for (const auto& node : document.select_nodes("//testcase")) {
    if (node.node().attribute("name").value() == key) return node.node().first_child().name();
  }
  return "no such case";
}

TEST(Junit, OnlyPassedCasesPass) {
  const auto document = parsed(reports::junit_xml(example()));
  EXPECT_EQ(outcome_of(document, "decode:b=16,kv=4096 @eigen"), "");
  const auto report = example();
  for (const auto& entry : report.cases) {
    if (entry.verdict == Verdict::passed) continue;
    const bool error = entry.verdict == Verdict::crashed || entry.verdict == Verdict::timeout;
    const bool skipped = reports::is_unchecked(entry.verdict) || entry.verdict == Verdict::known_failure;
    EXPECT_EQ(outcome_of(document, entry.key), error ? "error" : skipped ? "skipped" : "failure") << entry.key;
  }
}

TEST(Junit, CountsAndSecondsAddUp) {
  const auto document = parsed(reports::junit_xml(example()));
  const auto root = document.child("testsuites");
  EXPECT_EQ(root.attribute("tests").as_int(), 10);
  EXPECT_EQ(root.attribute("failures").as_int(), 3);
  EXPECT_EQ(root.attribute("errors").as_int(), 2);
  EXPECT_EQ(root.attribute("skipped").as_int(), 3);
  EXPECT_NEAR(root.attribute("time").as_double(), 20.52, 1e-6);
  EXPECT_NEAR(root.select_node("//testcase").node().attribute("time").as_double(), 2.052, 1e-9);
}

TEST(Junit, FailureHoldsReasonAndCommand) {
  const auto document = parsed(reports::junit_xml(example()));
  const auto failure = document.select_node("//failure[@type='failed']").node();
  EXPECT_STREQ(failure.attribute("message").value(), "hard_bound: row 3 is 2.1 times its bound off");
  EXPECT_THAT(failure.text().get(), HasSubstr("mla-harness run decode:b=2 --provider eigen"));
}

TEST(Junit, HostileTextStaysText) {
  Json entry = example_case("decode:b=1", "eigen", Verdict::failed);
  entry["reason"]["message"] = "]]><a b=\"&\x01\xEF\xBF\xBF";
  entry["suites"][0]["suite"] = "<script>\"'";
  const std::string xml = reports::junit_xml(reports::parse_report(example_report({entry})));
  EXPECT_THAT(xml, Not(HasSubstr("\x01")));
  EXPECT_THAT(xml, Not(HasSubstr("\xEF\xBF\xBF")));
  const auto document = parsed(xml);
  EXPECT_STREQ(document.select_node("//failure").node().attribute("message").value(), "hard_bound: ]]><a b=\"&??");
  EXPECT_STREQ(document.select_node("//testsuite").node().attribute("name").value(), "<script>\"'");
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(Summary, TableFailuresCountsAndTimes) {
  const std::string text = reports::summary_text(example());
  EXPECT_THAT(text,
              AllOf(HasSubstr("deepseek-v3-tp8  eigen"), HasSubstr("812 us"), HasSubstr("6.40x torch"),
                    HasSubstr("\nfailed  decode:b=2 @eigen\n  hard_bound: row 3 is 2.1 times its bound off\n"
                              "  looks like: head 5 of 16 alone: token 7 has no weight\n"
                              "  mla-harness run decode:b=2 --provider eigen\n"),
                    HasSubstr("\n10 cases: passed 2, failed 1, mistrusted 1, skipped 1, unimplemented 1, crashed 1, "
                              "timeout 1, known_failure 1, unexpected_pass 1\n"),
                    HasSubstr("\nnot run: unsupported_dtype 1 unsupported_operation 1\n"),
                    HasSubstr("\nceilings: memory_read 21.3 GB/s, matmul_f32 4600 GFLOP/s\n"),
                    HasSubstr("\ntime: 55.2 s of which inputs 3.0 s, reference 8.0 s")));
}

TEST(Summary, TableKeepsWithinTheTerminalAndCommandsStayWhole) {
  const std::string word = "decode:h=128,b=64,kv=" + std::string(200, '8') + ",dist=needle";
  const auto report = reports::parse_report(
      example_report({example_case(word, "eigen"), example_case(word, "torch", Verdict::failed)}));
  for (const int columns : {60, 80, 100, 140}) {
    const std::string text = reports::summary_text(report, {.columns = columns, .colour = false});
    const std::string table = text.substr(0, text.find("\n\n"));
    EXPECT_LE(widest_line(table), static_cast<std::size_t>(columns));
    EXPECT_THAT(table, AllOf(HasSubstr(".."), HasSubstr("failed")));
    EXPECT_THAT(text, HasSubstr("mla-harness run " + word + " --provider torch\n"));
  }
}

TEST(Summary, UnitOfRatesFollowsTheLargest) {
  const auto summary_at = [](double tb_per_s) {
    Json entry = example_case("decode:b=1", "eigen");
    entry["performance"]["tb_per_s"] = tb_per_s;
    return reports::summary_text(reports::parse_report(example_report({entry})));
  };
  EXPECT_THAT(summary_at(0.0932), AllOf(HasSubstr("GB/s  TFLOP/s"), HasSubstr(" 93.2 ")));
  EXPECT_THAT(summary_at(4.25), AllOf(HasSubstr("TB/s  TFLOP/s"), HasSubstr(" 4.25 ")));
}

TEST(Summary, ColourOnlyWhereAskedFor) {
  EXPECT_THAT(reports::summary_text(example()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(reports::summary_text(example(), {.columns = 100, .colour = true}), HasSubstr("\x1b[31m"));
}

TEST(Summary, IsAscii) {
  const std::string text = reports::summary_text(example());
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
}

TEST(Summary, OfNoCases) {
  EXPECT_THAT(reports::summary_text(reports::parse_report(example_report(std::vector<Json>{}))),
              HasSubstr("0 cases: no cases"));
}

TEST(Summary, SameNameOfTwoProblemsGivesWayToTheirWords) {
  Json a = example_case("decode:b=1", "eigen");
  Json b = example_case("decode:b=2", "eigen");
  a["suites"][0]["name"] = b["suites"][0]["name"] = "small";
  const std::string text = reports::summary_text(reports::parse_report(example_report({a, b})));
  EXPECT_THAT(text, AllOf(HasSubstr("decode:b=1 "), HasSubstr("decode:b=2 "), Not(HasSubstr("small"))));
}

}  // namespace
}  // namespace mla::suites
