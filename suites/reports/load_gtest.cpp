#include "reports/load.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/write.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::load_report;
using reports::ReportError;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path kData = MLA_REPORT_DATA;

TEST(LoadReport, GoldenFileIsTheExample) {
  EXPECT_EQ(contents_of(kData / "example-report-1.2.json"), reports::dump_strict(example_report(), 1) + "\n");
}

/// Every minor that was ever written.
class GoldenReport : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Minors, GoldenReport, ::testing::Values("1.0", "1.1", "1.2"),
                         [](const auto& minor) { return "Of" + std::string(minor.param).replace(1, 1, "_"); });

TEST_P(GoldenReport, HasItsTypedFields) {
  const auto report = load_report(kData / (std::string("example-report-") + GetParam() + ".json"));
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_TRUE(report.run.complete);
  EXPECT_EQ(report.run.git_branch, "main");
  EXPECT_EQ(report.environment.fingerprint, "8f1d4c22a0b35e71");
  EXPECT_EQ(report.ceilings.at(2).value, std::nullopt);
  ASSERT_EQ(report.cases.size(), 10U);
  const auto& first = report.cases.front();
  EXPECT_EQ(first.key, "decode:b=16,kv=4096 @eigen");
  EXPECT_EQ(first.short_name(), "deepseek-v3-tp8");
  EXPECT_DOUBLE_EQ(first.worst_ratio().value(), 0.43);
  ASSERT_TRUE(first.performance.has_value());
  EXPECT_DOUBLE_EQ(first.performance->median_ns, 811500);
  EXPECT_EQ(first.performance->launch_samples_ns.front().size(), 8U);
  for (const Verdict verdict : reports::kVerdicts) {
    EXPECT_EQ(report.counts.of(verdict), verdict == Verdict::passed ? 2 : 1) << reports::name_of(verdict);
  }
  ASSERT_EQ(report.provider_ratios.size(), 1U);
  EXPECT_NEAR(report.provider_ratios[0].speedup, 6.4, 1e-9);
}

TEST(LoadReport, KeepsTheCasesAsTheyWereWritten) {
  const Json written = example_report();
  const auto report = reports::parse_report(written);
  for (std::size_t i = 0; i < report.cases.size(); ++i) EXPECT_EQ(report.cases[i].json, written["cases"][i]);
}

/// What is typed of a case.
void expect_equal(const reports::Case& a, const reports::Case& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.repro, b.repro);
  EXPECT_EQ(a.short_name(), b.short_name());
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.input_digest, b.input_digest);
  EXPECT_EQ(a.elapsed_ms, b.elapsed_ms);
  EXPECT_EQ(a.reason ? a.reason->message : "", b.reason ? b.reason->message : "");
  EXPECT_EQ(a.kernel ? a.kernel->digest : "", b.kernel ? b.kernel->digest : "");
  ASSERT_EQ(a.performance.has_value(), b.performance.has_value());
  if (!a.performance) return;
  EXPECT_EQ(a.performance->launch_samples_ns, b.performance->launch_samples_ns);
  EXPECT_EQ(a.performance->median_ns, b.performance->median_ns);
  EXPECT_EQ(a.performance->ci95_low_ns, b.performance->ci95_low_ns);
  EXPECT_EQ(a.performance->bytes, b.performance->bytes);
  EXPECT_EQ(a.performance->ceiling->name, b.performance->ceiling->name);
  EXPECT_EQ(a.performance->stages.size(), b.performance->stages.size());
}

TEST(LoadReport, FromAFileIsWhatItIsFromADocument) {
  const Json document = example_report();
  const auto expected = reports::parse_report(document);
  const TemporaryFolder folder;
  Json turned;  // an order that only the careful way reads
  for (const char* member : {"cases", "summary", "ceilings", "environment", "run", "schema"}) {
    turned[member] = document[member];
  }
  for (const std::string& text : {document.dump(), document.dump(2) + "\n\n", turned.dump()}) {
    put(folder / "r.json", text);
    for (const auto keep : {reports::CaseJson::keep, reports::CaseJson::drop}) {
      const auto report = load_report(folder / "r.json", keep);
      EXPECT_EQ(report.header, expected.header);
      EXPECT_EQ(report.elapsed_s, expected.elapsed_s);
      EXPECT_EQ(report.counts.by_verdict, expected.counts.by_verdict);
      EXPECT_EQ(report.provider_ratios.size(), expected.provider_ratios.size());
      ASSERT_EQ(report.cases.size(), expected.cases.size());
      for (std::size_t i = 0; i < report.cases.size(); ++i) {
        expect_equal(report.cases[i], expected.cases[i]);
        EXPECT_EQ(report.cases[i].json, keep == reports::CaseJson::keep ? expected.cases[i].json : Json());
      }
    }
  }
}

TEST(LoadReport, NewerMinorIsReadWithAWarningAndItsFieldsIgnored) {
  Json document = example_report();
  document["schema"]["version"] = "1.7.0";
  document["novelty"] = 1;
  document["cases"][0]["novelty"] = {{"drop1", 23.6}};
  const auto report = reports::parse_report(document);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings[0], HasSubstr("1.7 is newer than 1.2"));
  EXPECT_EQ(report.cases[0].json["novelty"]["drop1"], 23.6);
}

/// One way of spoiling a good report, and what the message must contain.
struct Spoiled {
  std::string name;
  std::function<void(Json&)> spoil;
  std::string expected;
};

void PrintTo(const Spoiled& spoiled, std::ostream* out) {
  *out << spoiled.name;
}

class SpoiledReport : public ::testing::TestWithParam<Spoiled> {};

TEST_P(SpoiledReport, IsRefusedInOneLineThatNamesPlaceValueAndRule) {
  Json document = example_report();
  GetParam().spoil(document);
  const std::string message = refusal([&] { (void)reports::parse_report(document); });
  EXPECT_THAT(message, HasSubstr(GetParam().expected));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  EXPECT_LT(message.size(), 400U);

  const TemporaryFolder folder;
  put(folder / "r.json", document.dump());  // an infinity becomes null, and is refused all the same
  EXPECT_THAT(refusal([&] { (void)load_report(folder / "r.json", reports::CaseJson::drop); }),
              StartsWith((folder / "r.json").string() + ": "));
}

Json& at(Json& document, const char* pointer) {
  return document.at(Json::json_pointer(pointer));
}

auto set(const char* pointer, Json value) {
  return [pointer, value](Json& document) { at(document, pointer) = value; };
}
auto erase(const char* object, const char* key) {
  return [object, key](Json& document) { at(document, object).erase(key); };
}

const std::vector<Spoiled> kSpoiled = {
    {"VerdictOfAnotherType", set("/cases/0/verdict", 3), "/cases/0/verdict = 3: must be a string"},
    {"UnknownVerdict", set("/cases/0/verdict", "fine"), "/cases/0/verdict = \"fine\""},
    {"NegativeTime", set("/cases/0/performance/median_ns", -1.0),
     "/cases/0/performance/median_ns = -1.0: must be above 0"},
    {"ZeroSample", set("/cases/0/performance/launch_samples_ns/0/3", 0), "launch_samples_ns/0/3 = 0: must be above 0"},
    {"InfiniteSample", set("/cases/0/performance/launch_samples_ns/0/3", std::numeric_limits<double>::infinity()),
     "must be finite"},
    {"TextSample", set("/cases/0/performance/launch_samples_ns/0/3", "fast"), "= \"fast\": must be a number"},
    {"NoLaunches", set("/cases/0/performance/launch_samples_ns", Json::array()), "must have at least 1 element"},
    {"EmptyLaunch", set("/cases/0/performance/launch_samples_ns/0", Json::array()), "must have at least 1 element"},
    {"MedianOutsideSamples", set("/cases/0/performance/median_ns", 1.0), "must lie within launch_samples_ns"},
    {"ReversedInterval", set("/cases/0/performance/ci95_ns", {2, 1}), "must be in ascending order"},
    {"IntervalOfThree", set("/cases/0/performance/ci95_ns", {1, 2, 3}), "must have at most 2 elements"},
    {"NegativeFlops", set("/cases/0/performance/flops", -1), "/cases/0/performance/flops = -1: must be at least 0"},
    {"PerformanceOfAFailedCase", [](Json& d) { at(d, "/cases/2/performance") = at(d, "/cases/0/performance"); },
     "only a passed case"},
    {"FailureWithoutReason", set("/cases/2/reason", nullptr), "needs a member 'reason'"},
    {"ReasonIsText", set("/cases/2/reason", "broken"), "/cases/2/reason = \"broken\": must be an object"},
    {"KeyOfAnotherProblem", set("/cases/0/key", "decode:b=1 @eigen"), "must be the problem, ' @' and the provider"},
    {"DuplicateCase",
     [](Json& d) {
       d["cases"].push_back(d["cases"][0]);
       d["summary"]["total"] = 11;
       d["summary"]["passed"] = 3;
     },
     "/cases/10/key = \"decode:b=16,kv=4096 @eigen\": two cases"},
    {"CaseIsANumber", set("/cases/1", 5), "/cases/1 = 5: must be an object"},
    {"CasesAreAnObject", set("/cases", Json::object()), "/cases = an object of 0 members: must be an array"},
    {"UnknownMember", [](Json& d) { d["cases"][0]["verdct"] = 1; }, "/cases/0/verdct = 1: unknown member"},
    {"MissingMember", erase("/cases/0", "repro"), "/cases/0: required member 'repro' is missing"},
    {"MissingSummary", erase("", "summary"), "required member 'summary' is missing"},
    {"WrongCount", set("/summary/passed", 3), "/summary/passed = 3: the report holds 2 such cases"},
    {"WrongTotal", set("/summary/total", 9), "the report holds 10 such cases"},
    {"NegativeElapsed", set("/summary/elapsed_s", -2), "must be at least 0"},
    {"ZeroSpeedup", set("/summary/provider_ratios/0/speedup", 0), "must be above 0"},
    {"NestedAxis", set("/cases/0/axes/h", {1, 2}), "/cases/0/axes/h = an array of 2 elements"},
    {"TierVerdict", set("/cases/0/correctness/tiers/hard/verdict", "ok"), "must be 'passed', 'failed' or 'skipped'"},
    {"NegativeRatio", set("/cases/0/correctness/tiers/hard/max_ratio", -0.1), "must be at least 0"},
    {"GotIsText", set("/cases/0/correctness/worst/0/got", "big"), "must be a number, null, 'nan'"},
    {"PointerIsEscaped", [](Json& d) { d["run"]["a/b~c"] = 1; }, "/run/a~1b~0c = 1: unknown member"},
    {"SeedIsNegative", set("/run/seed", -1), "/run/seed = -1: must be at least 0"},
    {"SeedIsHuge", set("/run/seed", 1e30), "must be an integer from 0 to 2^64-1"},
    {"CoresOverflow", set("/environment/cpu/cores", std::numeric_limits<std::uint64_t>::max()), "must be below 2^63"},
    {"UnknownMode", set("/run/mode", "B"), "must be 'C', 'P' or 'CP'"},
    {"ShardBeyondCount", set("/run/shard/index", 2), "must be at most the shard count 1"},
    {"ShaIsShort", set("/run/git/sha", "0123"), "must be 40 lower-case hexadecimal digits"},
    {"TimeWithoutZone", set("/run/started_utc", "2026-12-01T01:02:03"), "must be a UTC time"},
    {"EmptyFingerprint", set("/environment/fingerprint", ""), "must not be empty"},
    {"CeilingIsZero", set("/ceilings/0/value", 0), "/ceilings/0/value = 0: must be above 0"},
    {"NewerMajor", set("/schema/version", "2.0.0"), "schema version 2.0 cannot be read"},
    {"OlderMajor", set("/schema/version", "0.9.0"), "schema version 0.9 cannot be read"},
    {"VersionIsText", set("/schema/version", "one"), "/schema/version = \"one\": must be a version"},
    {"VersionOverflow", set("/schema/version", "99999999999.0.0"), "must be a version"},
    {"ForeignSchema", set("/schema/name", "gtest"), "no mla-harness-report: schema name 'gtest'"},
    {"NoSchema", erase("", "schema"), "no mla-harness-report"},
    {"ArrayDocument",
     [](Json& d) {
       d = Json::array({1, 2});
     },
     "no mla-harness-report"},
};

INSTANTIATE_TEST_SUITE_P(Each, SpoiledReport, ::testing::ValuesIn(kSpoiled),
                         [](const auto& test) { return test.param.name; });

/// Files whose text, not whose content, is wrong.
struct Malformed {
  std::string name;
  std::string text;
  std::string expected;
};

void PrintTo(const Malformed& malformed, std::ostream* out) {
  *out << malformed.name;
}

class MalformedFile : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedFile, IsRefusedInOneLineThatBeginsWithThePath) {
  const TemporaryFolder folder;
  put(folder / "r.json", GetParam().text);
  const std::string message = refusal([&] { (void)load_report(folder / "r.json"); });
  EXPECT_THAT(message, AllOf(StartsWith((folder / "r.json").string() + ": "), HasSubstr(GetParam().expected)));
  EXPECT_EQ(refusal([&] { (void)load_report(folder / "r.json", reports::CaseJson::drop); }), message);
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  EXPECT_LT(message.size(), 400U);
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string edited(std::string_view from, std::string_view to) {
  std::string text = example_report().dump();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the example has no such text");
  return text.replace(at, from.size(), to);
}

const std::vector<Malformed> kMalformed = {
    {"Empty", "", "the file is empty"},
    {"Blank", " \n\n", "the file is empty"},
    {"NanToken", edited("811500.0", "NaN"), "not valid JSON at byte"},
    {"InfinityToken", edited("811500.0", "Infinity"), "not valid JSON at byte"},
    {"NumberOverflow", edited("811500.0", "1e999"), "not valid JSON at byte"},
    {"Comment", "// hello\n" + example_report().dump(), "not valid JSON at byte 1"},
    {"TrailingGarbage", example_report().dump() + "{}", "not valid JSON at byte"},
    {"TwoVerdicts", edited("\"verdict\":\"passed\"", "\"verdict\":\"failed\",\"verdict\":\"passed\""),
     "/cases/0: member 'verdict' occurs twice"},
    {"TwoSummaries", edited("\"summary\":", "\"summary\":{},\"summary\":"), "/: member 'summary' occurs twice"},
    {"TwoCaseLists", edited("\"cases\":", "\"cases\":[],\"cases\":"), "/: member 'cases' occurs twice"},
    {"TwoMembersOfAFreeForm", edited("\"precision\":{", "\"precision\":{\"x\":1,\"x\":2,"),
     "/cases/0/correctness/precision: member 'x' occurs twice"},
    {"TwoEqualKeysSpeltApart", edited("\"verdict\":\"passed\"", "\"verdict\":\"passed\",\"verdic\\u0074\":1"),
     "/cases/0: member 'verdict' occurs twice"},
    {"NoCommaBetweenMembers", edited(",\"environment\":", "\"environment\":"), "not valid JSON at byte"},
    {"WordBehindAMember", edited(",\"environment\":", "x,\"environment\":"), "not valid JSON at byte"},
    {"NotUtf8", edited("node7", "node\xFF"), "not valid JSON at byte"},
    {"ControlCharacter", edited("node7", "node\x01"), "not valid JSON at byte"},
    {"LoneSurrogate", edited("node7", "\\ud800"), "not valid JSON at byte"},
    {"DeepArrays", repeated("[", 100000), "nested deeper than 32 levels"},
    {"DeepObjects", repeated("{\"a\":", 100000), "nested deeper than 32 levels"},
    {"ForeignObject", R"({"benchmarks": [], "context": {}})", "no mla-harness-report"},
    {"ForeignText", "<html></html>", "not valid JSON at byte 1"},
    {"Number", "42", "no mla-harness-report"},
    {"JournalWithABadLine", example_header().dump() + "\n{\"key\":1}\n" + example_case("decode:", "a").dump() + "\n",
     "line 2: /: required member 'problem' is missing"},
    {"JournalCutInTheMiddle", example_header().dump() + "\n{\"key\":\n" + example_case("decode:", "a").dump() + "\n",
     "line 2: truncated"},
};

INSTANTIATE_TEST_SUITE_P(Each, MalformedFile, ::testing::ValuesIn(kMalformed),
                         [](const auto& test) { return test.param.name; });

TEST(LoadReport, TruncatedAnywhereIsRefusedWithTheOffset) {
  const TemporaryFolder folder;
  const std::string text = reports::dump_strict(example_report(), 1);
  for (std::size_t length = 1; length < text.size(); length += 1 + text.size() / 97) {
    put(folder / "r.json", std::string_view(text).substr(0, length));
    const std::string message = refusal([&] { (void)load_report(folder / "r.json"); });
    EXPECT_THAT(message, HasSubstr(": truncated: the JSON text ends at byte " + std::to_string(length)));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST(LoadReport, WhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { (void)load_report(folder / ""); }), HasSubstr("is a directory, not a report"));
  EXPECT_THAT(refusal([&] { (void)load_report(folder / "none.json"); }), HasSubstr("no such file"));
  EXPECT_THAT(refusal([] { (void)load_report("/dev/zero"); }), HasSubstr("is not a regular file"));
}

TEST(LoadReport, TooLargeAFileIsRefusedUnread) {
  const TemporaryFolder folder;
  put(folder / "r.json", "{");
  std::filesystem::resize_file(folder / "r.json", reports::kMaxReportBytes + 1);  // sparse: takes no room
  EXPECT_THAT(refusal([&] { (void)load_report(folder / "r.json"); }), HasSubstr("a report has at most 2147483648"));
}

TEST(WriteReport, RefusesWhatJsonCannotHoldWithItsPlace) {
  Json document = example_report();
  at(document, "/cases/0/performance/tb_per_s") = std::nan("");
  const TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { reports::write_report(folder / "r.json", document); }),
              HasSubstr("/cases/0/performance/tb_per_s = nan"));
  EXPECT_FALSE(std::filesystem::exists(folder / "r.json"));
}

TEST(WriteReport, LeavesTheOldFileWhereTheNewReportIsNotValid) {
  const TemporaryFolder folder;
  put(folder / "r.json", "old");
  Json document = example_report();
  document["summary"]["total"] = 3;
  EXPECT_THAT(refusal([&] { reports::write_report(folder / "r.json", document); }), HasSubstr("/summary/total = 3"));
  EXPECT_EQ(contents_of(folder / "r.json"), "old");
}

TEST(WriteReport, WritesWhatIsReadBackAndNothingBeside) {
  const TemporaryFolder folder;
  reports::write_report(folder / "sub/r.json", example_report());
  EXPECT_EQ(load_report(folder / "sub/r.json").cases.size(), 10U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "sub"), {}), 1);
}

TEST(WriteFile, KeepsALinkAndReplacesItsTarget) {
  const TemporaryFolder folder;
  put(folder / "target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  reports::write_file(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contents_of(folder / "target"), "new");
}

TEST(WriteFile, NeverReplacesADevice) {
  reports::write_file("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(DumpStrict, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(reports::dump_strict(Json("a\xFF")), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace mla::suites
