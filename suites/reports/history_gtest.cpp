// A directory of reports as a history: its index, its groups, its trends, and steps that a person accepted.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/history/accepted.hpp"
#include "reports/history/history.hpp"
#include "reports/history/store.hpp"
#include "reports/history/summary.hpp"
#include "reports/history/trend.hpp"
#include "reports/pattern.hpp"
#include "reports/write.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::History;
using reports::HistoryBuilder;
using reports::HistoryPoint;
using reports::IndexWork;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Report of night `night`, two cases; the first takes `ms`.
Json night_report(int night, double ms = 1.0, const std::string& fingerprint = "8f1d4c22a0b35e71") {
  Json report = example_report({timed_case("decode:b=1", "eigen", example_performance(ms * 1e6)),
                                timed_case("decode:b=2", "eigen", example_performance(2e6))});
  report["run"]["id"] = fmt::format("night-{:03}-{}", night, fingerprint);
  report["run"]["started_utc"] = fmt::format("2026-{:02}-{:02}T01:00:00Z", 1 + night / 28, 1 + night % 28);
  report["run"]["git"]["sha"] = fmt::format("{:040x}", 0xabc0000 + night);
  report["environment"]["fingerprint"] = fingerprint;
  return report;
}

void put_night(const TemporaryFolder& folder, int night, double ms = 1.0,
               const std::string& fingerprint = "8f1d4c22a0b35e71") {
  put(folder / fmt::format("{}-{:03}.json", fingerprint, night), night_report(night, ms, fingerprint).dump());
}

std::pair<History, IndexWork> read(const TemporaryFolder& folder, const reports::HistoryOptions& options = {}) {
  HistoryBuilder builder;
  const IndexWork work = reports::add_directory(builder, folder / "");
  return {builder.build(options), work};
}

/// Everything that a reader of a history sees.
std::string text_of(const History& history) {
  std::string text;
  for (const auto& group : history.groups) {
    text += group.fingerprint + "\n";
    for (const auto& run : group.runs) {
      text += fmt::format(" {} {} {} {} {} {} {} {}\n", run.path, run.id, run.started_utc, run.host, run.device,
                          run.git_sha, run.complete, reports::text_of(run.counts));
    }
    for (const auto& entry : group.cases) {
      text += fmt::format(" {} {} {} {}:", entry.key, entry.problem, entry.provider, entry.name);
      for (const HistoryPoint& point : entry.points) {
        text += fmt::format(" {}/{}/{}/{}", point.verdict ? static_cast<int>(*point.verdict) : -1, point.median_ns,
                            point.ci95_low_ns, point.ci95_high_ns);
      }
      text += '\n';
    }
  }
  for (const std::string& line : history.skipped) text += line + "\n";
  return text;
}

TEST(HistoryStore, ReadsEachReportOnce) {
  const TemporaryFolder folder;
  for (int night = 0; night < 5; ++night) put_night(folder, night, 1.0 + night);
  const auto [first, work] = read(folder);
  EXPECT_EQ(work.read, 5U);
  EXPECT_TRUE(work.written);
  ASSERT_THAT(first.groups, SizeIs(1));
  ASSERT_THAT(first.groups[0].cases, SizeIs(2));
  EXPECT_FLOAT_EQ(first.groups[0].cases[0].points[3].median_ns, 4e6F);
  EXPECT_FLOAT_EQ(first.groups[0].cases[0].points[3].ci95_high_ns, 4.004e6F);

  const auto [second, again] = read(folder);
  EXPECT_EQ(again.read, 0U);
  EXPECT_EQ(again.kept, 5U);
  EXPECT_EQ(text_of(second), text_of(first));
}

TEST(HistoryStore, FollowsNewChangedAndRemovedReports) {
  const TemporaryFolder folder;
  for (int night = 0; night < 4; ++night) put_night(folder, night);
  (void)read(folder);
  put_night(folder, 4);
  put_night(folder, 1, 17.25);  // another size: more digits
  std::filesystem::remove(folder / "8f1d4c22a0b35e71-000.json");
  const auto [history, work] = read(folder);
  EXPECT_EQ(work.read, 2U);
  EXPECT_EQ(work.kept, 2U);
  EXPECT_EQ(work.removed, 2U);
  ASSERT_THAT(history.groups[0].runs, SizeIs(4));
  EXPECT_FLOAT_EQ(history.groups[0].cases[0].points[0].median_ns, 17.25e6F);
}

TEST(HistoryStore, IndexThatIsDeletedDamagedOrOfAnotherVersionIsMadeAnew) {
  const TemporaryFolder folder;
  for (int night = 0; night < 3; ++night) put_night(folder, night);
  const std::string expected = text_of(read(folder).first);
  const auto index = folder / reports::kIndexFile;
  const auto expect_rebuilt = [&](const char* what) {
    const auto [history, work] = read(folder);
    EXPECT_EQ(work.read, 3U) << what;
    EXPECT_EQ(text_of(history), expected) << what;
    EXPECT_EQ(read(folder).second.kept, 3U) << what;
  };
  std::filesystem::remove(index);
  expect_rebuilt("deleted");
  put(index, std::string(5000, 'x'));
  expect_rebuilt("garbage");
  std::string bytes = contents_of(index);
  bytes[63] = 99;  // the last byte of the user version in a SQLite header
  put(index, bytes);
  expect_rebuilt("another version");
  bytes = contents_of(index);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  put(index, bytes);
  expect_rebuilt("damaged pages");
}

TEST(HistoryStore, WithoutAPlaceForTheIndexTheReportsAreRead) {
  const TemporaryFolder folder;
  put_night(folder, 0);
  std::filesystem::create_directories(folder / std::string(reports::kIndexFile) / "occupied");
  const auto [history, work] = read(folder);
  EXPECT_FALSE(work.written);
  EXPECT_THAT(history.groups[0].runs, SizeIs(1));
}

TEST(HistoryStore, WhatIsNoReportIsSkippedWithItsReason) {
  const TemporaryFolder folder;
  put_night(folder, 0);
  put(folder / "cut.json", night_report(1).dump().substr(0, 700));
  put(folder / "foreign.json", R"({"benchmarks": []})");
  put(folder / "notes.txt", "no report, and not asked");
  put(folder / reports::kAcceptedFile, "not even JSON: read elsewhere");
  for (const char* pass : {"read", "from the index"}) {
    const History history = read(folder).first;
    EXPECT_THAT(history.skipped, ElementsAre(AllOf(HasSubstr("cut.json: "), HasSubstr("truncated")),
                                             AllOf(HasSubstr("foreign.json: "), HasSubstr("no mla-harness-report"))))
        << pass;
    EXPECT_THAT(history.groups, SizeIs(1));
  }
  EXPECT_THAT(refusal([&] {
                HistoryBuilder builder;
                (void)reports::add_directory(builder, folder / "none");
              }),
              HasSubstr("none: "));
}

TEST(History, GroupsByFingerprintNewestFirst) {
  const TemporaryFolder folder;
  for (int night = 0; night < 3; ++night) put_night(folder, night, 1, "aaaa");
  put_night(folder, 5, 1, "bbbb");
  const History history = read(folder).first;
  ASSERT_THAT(history.groups, SizeIs(2));
  EXPECT_EQ(history.groups[0].fingerprint, "bbbb");
  EXPECT_THAT(history.groups[1].runs, SizeIs(3));
}

TEST(History, OrdersByTimeKeepsTheNewestAndARunOnce) {
  HistoryBuilder builder;
  for (const int night : {4, 0, 3, 1, 2, 3}) {
    builder.add(fmt::format("{}.json", night), reports::parse_report(night_report(night, 1.0 + night)));
  }
  const History history = builder.build({.last = 3});
  ASSERT_THAT(history.groups[0].runs, SizeIs(3));
  EXPECT_FLOAT_EQ(history.groups[0].cases[0].points[0].median_ns, 3e6F);
  EXPECT_FLOAT_EQ(history.groups[0].cases[0].points[2].median_ns, 5e6F);
  EXPECT_THAT(history.skipped, ElementsAre(HasSubstr("the same run as 3.json")));
}

TEST(History, CasesThatARunLacksOrGotWrongHaveNoTime) {
  Json lacks = night_report(1);
  lacks = example_report({example_case("decode:b=1", "eigen", Verdict::failed)});
  lacks["run"]["started_utc"] = "2026-01-05T01:00:00Z";
  HistoryBuilder builder;
  builder.add("a.json", reports::parse_report(night_report(0)));
  builder.add("b.json", reports::parse_report(lacks));
  const History history = builder.build();
  const auto& cases = history.groups[0].cases;
  EXPECT_EQ(cases[0].points[1].verdict, Verdict::failed);
  EXPECT_EQ(cases[0].points[1].median_ns, 0);
  EXPECT_EQ(cases[1].points[1].verdict, std::nullopt);
  EXPECT_EQ(cases[1].trend.measured, 1U);
}

std::vector<HistoryPoint> points_of(const std::vector<double>& ms) {
  std::vector<HistoryPoint> points;
  for (const double value : ms) {
    const auto ns = static_cast<float>(1e6 * value);
    points.push_back({Verdict::passed, ns, ns, ns});
  }
  return points;
}

TEST(Trend, StepCarriesRunRatioAndLevels) {
  std::vector<HistoryPoint> points = points_of({1, 1.001, 0.999, 1, 1.1, 1.101, 1.099});
  points.insert(points.begin() + 2, HistoryPoint{});  // a run without the case is passed over
  const auto trend = reports::trend_of(points, 0.02);
  ASSERT_THAT(trend.steps, SizeIs(1));
  EXPECT_EQ(trend.steps[0].run, 5U);
  EXPECT_NEAR(trend.steps[0].ratio, 1.1, 0.002);
  ASSERT_THAT(trend.levels_ns, SizeIs(2));
  EXPECT_NEAR(trend.levels_ns[1], 1.1e6, 2e3);
  EXPECT_FALSE(trend.unconfirmed.has_value());
}

TEST(Trend, LastRunAloneIsNoStepButIsTold) {
  const auto trend = reports::trend_of(points_of({1, 1.001, 0.999, 1, 1.001, 1.1}), 0.02);
  EXPECT_THAT(trend.steps, IsEmpty());
  ASSERT_TRUE(trend.unconfirmed.has_value());
  EXPECT_NEAR(*trend.unconfirmed, 1.1, 0.002);
}

TEST(Trend, NothingMeasured) {
  const auto trend = reports::trend_of(std::vector<HistoryPoint>(4), 0.02);
  EXPECT_EQ(trend.measured, 0U);
  EXPECT_THAT(trend.levels_ns, IsEmpty());
}

Json accepted_document() {
  return {{"schema", {{"name", "mla-harness-accepted-steps"}, {"version", "1.0.0"}}},
          {"steps", Json::array({{{"run", "night-012"}, {"case", "decode:b=1 *"}, {"note", "checks are stricter"}}})}};
}

std::vector<reports::AcceptedStep> accepted_from(const Json& document) {
  const TemporaryFolder folder;
  put(folder / "a.json", document.dump());
  return reports::load_accepted(folder / "a.json");
}

TEST(Accepted, NotesTheStepItNames) {
  HistoryBuilder builder;
  for (int night = 0; night < 24; ++night) {
    Json report = night_report(night, night < 12 ? 1.0 : 1.2);
    report["run"]["id"] = fmt::format("night-{:03}", night);
    builder.add(fmt::format("{}.json", night), reports::parse_report(report));
  }
  History history = builder.build();
  reports::accept(history, accepted_from(accepted_document()));
  EXPECT_EQ(history.groups[0].cases[0].trend.steps.at(0).accepted, "checks are stricter");
  EXPECT_THAT(reports::history_text(history),
              AllOf(HasSubstr("24 runs since 2026-01-01"), HasSubstr("+20.0 %"), HasSubstr("checks are stricter")));

  Json by_commit = accepted_document();
  by_commit["steps"][0]["run"] =
      history.groups[0].runs[12].git_sha.substr(0, 36) + history.groups[0].runs[12].git_sha.substr(36);
  by_commit["steps"][0]["case"] = "decode:b=2 *";
  history.groups[0].cases[0].trend.steps[0].accepted.reset();
  reports::accept(history, accepted_from(by_commit));
  EXPECT_FALSE(history.groups[0].cases[0].trend.steps[0].accepted.has_value());
}

TEST(Accepted, RefusesInOneLineThatNamesThePlace) {
  const auto message = [](const char* pointer, Json value) {
    Json document = accepted_document();
    document[Json::json_pointer(pointer)] = std::move(value);
    return refusal([&] { (void)accepted_from(document); });
  };
  EXPECT_THAT(message("/schema/name", "other"), AllOf(HasSubstr("a.json: /schema/name"), HasSubstr("must be")));
  EXPECT_THAT(message("/schema/version", "2.0.0"), HasSubstr("/schema/version"));
  EXPECT_THAT(message("/steps/0/run", "abc"), HasSubstr("/steps/0/run = \"abc\": must have at least 7 characters"));
  EXPECT_THAT(message("/steps/0/note", ""), HasSubstr("/steps/0/note"));
  EXPECT_THAT(message("/steps/0/cases", "x"), HasSubstr("unknown member"));
}

TEST(Accepted, StarStandsForAnyText) {
  using reports::matches;
  EXPECT_TRUE(matches("decode:b=1 @eigen", "decode:b=1 @eigen"));
  EXPECT_FALSE(matches("decode:b=1", "decode:b=1 @eigen"));
  for (const char* pattern : {"*", "decode:*", "*@eigen", "decode:*@eigen", "*b=1*", "**", "decode:b=1 @eigen*"}) {
    EXPECT_TRUE(matches(pattern, "decode:b=1 @eigen")) << pattern;
  }
  for (const char* pattern : {"*@hip", "decode:*@eigen2", "", "*b=2*", "decode:b=1 @eigen*n", "*eigen@*"}) {
    EXPECT_FALSE(matches(pattern, "decode:b=1 @eigen")) << pattern;
  }
}

}  // namespace
}  // namespace mla::suites
