#include "reports/journal.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/load.hpp"
#include "reports/write.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::JournalWriter;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<Json> three_cases() {
  return {example_case("decode:b=1", "eigen"), example_case("decode:b=2", "eigen", Verdict::crashed),
          example_case("decode:b=3", "eigen")};
}

void write_journal(const std::filesystem::path& path, const std::vector<Json>& cases) {
  auto journal = JournalWriter::create(path, example_header());
  for (const Json& entry : cases) journal.append(entry);
}

TEST(Journal, FoldsIntoTheReportOfItsCases) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  const Json folded =
      reports::fold(folder / "r.jsonl", {.ended_utc = "2026-12-01T01:02:58Z", .complete = true, .elapsed_s = 55.2});
  EXPECT_EQ(folded, example_report(three_cases()));
  reports::write_report(folder / "r.json", folded);
  EXPECT_EQ(reports::load_report(folder / "r.json").counts.of(Verdict::crashed), 1);
}

TEST(Journal, EachCaseIsInTheFileWhenAppendReturns) {
  const TemporaryFolder folder;
  auto journal = JournalWriter::create(folder / "r.jsonl", example_header());
  std::string expected = reports::dump_strict(example_header()) + "\n";
  EXPECT_EQ(contents_of(folder / "r.jsonl"), expected);
  for (const Json& entry : three_cases()) {
    journal.append(entry);
    expected += reports::dump_strict(entry) + "\n";
    EXPECT_EQ(contents_of(folder / "r.jsonl"), expected);
  }
}

TEST(Journal, OfAnInterruptedRunIsReadAsAReport) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  const auto report = reports::load_report(folder / "r.jsonl");
  EXPECT_FALSE(report.run.complete);
  EXPECT_EQ(report.cases.size(), 3U);
  EXPECT_DOUBLE_EQ(report.elapsed_s, 3 * 2.052);
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("interrupted")));
}

TEST(Journal, LosesOnlyTheCaseWhoseLineWasCut) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  const std::string text = contents_of(folder / "r.jsonl");
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t length = last; length < text.size(); length += 1 + (text.size() - last) / 31) {
    put(folder / "cut.jsonl", std::string_view(text).substr(0, length));
    EXPECT_EQ(reports::load_report(folder / "cut.jsonl").cases.size(), 2U) << length;
  }
}

TEST(Journal, WithItsHeaderAloneHasNoCases) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", {});
  EXPECT_TRUE(reports::load_report(folder / "r.jsonl").cases.empty());
}

TEST(Journal, WithItsHeaderCutIsTruncated) {
  const TemporaryFolder folder;
  put(folder / "r.jsonl", example_header().dump().substr(0, 300));
  EXPECT_THAT(refusal([&] { (void)reports::load_report(folder / "r.jsonl"); }), HasSubstr("truncated"));
}

TEST(Journal, ResumeContinuesBehindTheLastWholeLine) {
  const TemporaryFolder folder;
  const auto cases = three_cases();
  write_journal(folder / "r.jsonl", {cases[0], cases[1]});
  put(folder / "r.jsonl", contents_of(folder / "r.jsonl") + R"({"key": "decode:b=3 @ei)");
  auto journal = JournalWriter::resume(folder / "r.jsonl", example_header());
  EXPECT_THAT(journal.done(), ElementsAre(Pair("decode:b=1 @eigen", 1U), Pair("decode:b=2 @eigen", 0U)));
  journal.append(cases[2]);
  const Json folded =
      reports::fold(folder / "r.jsonl", {.ended_utc = "2026-12-01T01:02:58Z", .complete = true, .elapsed_s = 55.2});
  EXPECT_EQ(folded, example_report(cases));
}

TEST(Journal, LaterLaunchesBecomeReplicatesOfTheirCase) {
  const TemporaryFolder folder;
  const auto cases = three_cases();
  write_journal(folder / "r.jsonl", cases);
  {
    auto journal = JournalWriter::resume(folder / "r.jsonl", example_header());
    const double before = cases[0].at("performance").at("median_ns").get<double>();
    for (const double factor : {1.01, 1.03})
      journal.append_launch("decode:b=1 @eigen", std::vector<double>(8, factor * before));
    EXPECT_THAT(journal.done(), Contains(Pair("decode:b=1 @eigen", 3U)));
  }
  auto journal = JournalWriter::resume(folder / "r.jsonl", example_header());
  EXPECT_THAT(journal.done(), Contains(Pair("decode:b=1 @eigen", 3U)));
  const auto report = reports::load_report(folder / "r.jsonl");
  const auto first = reports::parse_report(example_report(cases)).cases.front().performance.value();
  const auto& performance = report.cases.front().performance.value();
  ASSERT_EQ(performance.launch_samples_ns.size(), 3U);
  EXPECT_DOUBLE_EQ(performance.median_ns, 1.01 * first.median_ns) << "of all samples";
  EXPECT_DOUBLE_EQ(performance.ci95_low_ns, first.median_ns) << "of three launches the interval is their range";
  EXPECT_DOUBLE_EQ(performance.ci95_high_ns, 1.03 * first.median_ns);
  EXPECT_DOUBLE_EQ(performance.tb_per_s, first.tb_per_s / 1.01);
  EXPECT_DOUBLE_EQ(performance.ceiling->percent, first.ceiling->percent / 1.01);
  EXPECT_EQ(report.cases.back().performance->launch_samples_ns.size(), 1U);
}

TEST(Journal, ALaterLaunchThatFailsMakesItsCaseACrashedOne) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  auto journal = JournalWriter::resume(folder / "r.jsonl", example_header());
  journal.append_failure("decode:b=3 @eigen", "launch 2 was killed by signal 11");
  const auto report = reports::load_report(folder / "r.jsonl");
  EXPECT_EQ(report.cases[2].verdict, Verdict::crashed);
  EXPECT_EQ(report.cases[2].reason->message, "launch 2 was killed by signal 11");
  EXPECT_FALSE(report.cases[2].performance.has_value());
}

TEST(Journal, ALaunchOfNoMeasuredCaseIsRefused) {
  const TemporaryFolder folder;
  for (const char* line : {R"({"key": "decode:b=9 @eigen", "launch": {"samples_ns": [1.0]}})",
                           R"({"key": "decode:b=2 @eigen", "launch": {"samples_ns": [1.0]}})",
                           R"({"key": "decode:b=1 @eigen", "launch": {"samples_ns": [-1.0]}})"}) {
    write_journal(folder / "r.jsonl", three_cases());
    put(folder / "r.jsonl", contents_of(folder / "r.jsonl") + line + "\n");
    EXPECT_THAT(refusal([&] { (void)reports::load_report(folder / "r.jsonl"); }), HasSubstr("line 5: /")) << line;
  }
}

TEST(Journal, ResumeIgnoresWhatMayDiffer) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  Json header = example_header();
  header["run"]["id"] = "another";
  header["run"]["started_utc"] = "2026-12-02T00:00:00Z";
  header["run"]["argv"].push_back("--resume");
  EXPECT_EQ(JournalWriter::resume(folder / "r.jsonl", header).done().size(), 3U);
}

class ResumeOfAnotherRun : public ::testing::TestWithParam<std::pair<const char*, Json>> {};

TEST_P(ResumeOfAnotherRun, IsRefusedAndLeavesTheJournalAlone) {
  const TemporaryFolder folder;
  write_journal(folder / "r.jsonl", three_cases());
  const std::string before = contents_of(folder / "r.jsonl");
  Json header = example_header();
  header.at(Json::json_pointer(GetParam().first)) = GetParam().second;
  EXPECT_THAT(refusal([&] { (void)JournalWriter::resume(folder / "r.jsonl", header); }), HasSubstr("cannot resume: /"));
  EXPECT_EQ(contents_of(folder / "r.jsonl"), before);
}

INSTANTIATE_TEST_SUITE_P(Each, ResumeOfAnotherRun,
                         ::testing::Values(std::pair{"/environment/fingerprint", Json("0000")},
                                           std::pair{"/run/seed", Json(1)}, std::pair{"/run/mode", Json("C")},
                                           std::pair{"/run/git/sha", Json("")}, std::pair{"/run/shard/count", Json(2)},
                                           std::pair{"/run/build/flags", Json("-O0")}));

TEST(Journal, ResumeOfNothingIsRefusedAndMakesNoFile) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal([&] { (void)JournalWriter::resume(folder / "r.jsonl", example_header()); }), "nothing thrown");
  EXPECT_FALSE(std::filesystem::exists(folder / "r.jsonl"));
}

TEST(Journal, SecondWriterIsRefused) {
  const TemporaryFolder folder;
  const auto first = JournalWriter::create(folder / "r.jsonl", example_header());
  EXPECT_THAT(refusal([&] { (void)JournalWriter::create(folder / "r.jsonl", example_header()); }),
              HasSubstr("another run is writing this journal"));
  EXPECT_NE(contents_of(folder / "r.jsonl"), "");
}

TEST(Journal, RefusesACaseThatAReaderWouldRefuseAndStaysWhole) {
  const TemporaryFolder folder;
  auto journal = JournalWriter::create(folder / "r.jsonl", example_header());
  journal.append(three_cases()[0]);
  const std::string before = contents_of(folder / "r.jsonl");

  Json bad = three_cases()[2];
  bad["correctness"]["abs_max"] = std::nan("");
  EXPECT_THAT(refusal([&] { journal.append(bad); }), HasSubstr("/correctness/abs_max"));
  bad = three_cases()[2];
  bad["correctness"]["precision"]["x"] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal([&] { journal.append(bad); }), HasSubstr("/correctness/precision/x = inf"));
  EXPECT_THAT(refusal([&] { journal.append(three_cases()[0]); }), HasSubstr("has this case already"));
  EXPECT_EQ(contents_of(folder / "r.jsonl"), before);
}

TEST(Journal, RepeatedCaseInTheFileIsRefused) {
  const TemporaryFolder folder;
  const std::string line = three_cases()[0].dump() + "\n";
  put(folder / "r.jsonl", example_header().dump() + "\n" + line + line);
  EXPECT_THAT(refusal([&] { (void)reports::load_report(folder / "r.jsonl"); }),
              HasSubstr("line 3: /key = \"decode:b=1 @eigen\": an earlier line has this key"));
}

TEST(Fold, ComparesProvidersWithTorchWhereItRanElseWithTheFirst) {
  const auto timed = [](const char* problem, const char* provider, double ns) {
    return timed_case(problem, provider, example_performance(ns));
  };
  const Json report = example_report({timed("decode:b=1", "eigen", 100), timed("decode:b=1", "torch", 300),
                                      timed("decode:b=1", "host", 600), timed("decode:b=2", "eigen", 100),
                                      timed("decode:b=2", "host", 400), timed("decode:b=3", "eigen", 100)});
  std::vector<std::string> lines;
  for (const Json& ratio : report["summary"]["provider_ratios"]) {
    lines.push_back(ratio["problem"].get<std::string>() + " " + ratio["provider"].get<std::string>() + "/" +
                    ratio["baseline"].get<std::string>() + " " + ratio["speedup"].dump());
  }
  EXPECT_THAT(lines,
              ElementsAre("decode:b=1 eigen/torch 3.0", "decode:b=1 host/torch 0.5", "decode:b=2 host/eigen 0.25"));
}

}  // namespace
}  // namespace mla::suites
