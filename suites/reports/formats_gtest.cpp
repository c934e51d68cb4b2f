// The formats of other tools, each read back the way its own readers do.
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/export/formats.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kHostile = "a\"b\\c\nd,e|`f`*g*<h>&'i'";

reports::Report example() {
  return reports::parse_report(example_report());
}

/// One failed case, every text of it hostile, and a measured one.
reports::Report hostile() {
  Json entry = example_case("decode:b=1", "eigen", Verdict::failed);
  entry["suites"][0]["name"] = kHostile;
  entry["reason"]["message"] = kHostile;
  entry["axes"]["dist"] = kHostile;
  Json document = example_report({entry, example_case("decode:b=2", "eigen")});
  document["environment"]["host"] = kHostile;
  return reports::parse_report(document);
}

// --- Google Benchmark -----------------------------------------------------------------------------------------------

/// What the library itself writes for one benchmark of three repetitions.
Json written_by_the_library() {
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark("sample",
                               [](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(1e-3);
                               })
      ->UseManualTime()
      ->Iterations(2)
      ->Repetitions(3);
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.SetErrorStream(&text);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return Json::parse(text.str());
}

std::map<std::string, std::string> types_of(const Json& entry) {
  std::map<std::string, std::string> types;
  for (const auto& [name, value] : entry.items()) types[name] = value.type_name();
  return types;
}

TEST(BenchmarkJson, EntriesHaveTheMembersThatTheLibraryWrites) {
  const Json library = written_by_the_library();
  const auto report = reports::parse_report(example_report(
      {timed_case("decode:b=1", "eigen", example_performance(1e6, 3)), example_case("decode:b=2", "eigen")}));
  const Json ours = Json::parse(reports::benchmark_json(report));
  EXPECT_EQ(ours["benchmarks"].size(), 8U);  // three launches, four aggregates, one launch
  for (std::size_t i = 0; i < 7; ++i) {
    const auto expected = types_of(library["benchmarks"][i]);
    const auto actual = types_of(ours["benchmarks"][i]);
    EXPECT_THAT(actual, IsSupersetOf(expected)) << i;
    for (const char* member : {"run_type", "repetitions", "threads", "time_unit"}) {
      EXPECT_EQ(ours["benchmarks"][i][member], library["benchmarks"][i][member]) << i << member;
    }
  }
  EXPECT_EQ(ours["benchmarks"][3]["aggregate_name"], "mean");
  EXPECT_EQ(ours["benchmarks"][6]["aggregate_unit"], library["benchmarks"][6]["aggregate_unit"]);
}

TEST(BenchmarkJson, TimesAndRatesAreThoseOfTheReport) {
  const Json document = Json::parse(reports::benchmark_json(example()));
  const Json& first = document["benchmarks"][0];
  EXPECT_EQ(first["name"], "decode:b=16,kv=4096 @eigen");
  EXPECT_DOUBLE_EQ(first["real_time"].get<double>(), 811500);
  EXPECT_EQ(first["iterations"], 8);
  EXPECT_NEAR(first["bytes_per_second"].get<double>(), 75661312 / 811500e-9, 1);
  EXPECT_EQ(document["context"]["host_name"], "node7");
}

TEST(BenchmarkJson, WrongCasesAreErrorsAndHaveNoTime) {
  const Json document = Json::parse(reports::benchmark_json(example()));
  std::size_t errors = 0;
  for (const Json& entry : document["benchmarks"]) {
    if (!entry.contains("error_occurred")) continue;
    ++errors;
    EXPECT_EQ(entry["real_time"], 0);
    EXPECT_NE(entry["error_message"], "");
  }
  EXPECT_EQ(errors, 4U);
}

// --- custom benchmark list ------------------------------------------------------------------------------------------

TEST(CustomJson, IsAListOfWhatDashboardActionsTake) {
  const Json list = Json::parse(reports::custom_json(example()));
  ASSERT_EQ(list.size(), 2U);
  for (const Json& entry : list) {
    EXPECT_TRUE(entry["name"].is_string());
    EXPECT_EQ(entry["unit"], "ns");
    EXPECT_GT(entry["value"].get<double>(), 0);
    EXPECT_THAT(entry["range"].get<std::string>(), StartsWith("\u00B1 "));
    EXPECT_THAT(entry["extra"].get<std::string>(), HasSubstr("mla-harness run "));
  }
  EXPECT_EQ(list[0]["range"], "\u00B1 812");
}

// --- Prometheus -----------------------------------------------------------------------------------------------------

struct Sample {
  std::string family;
  std::map<std::string, std::string> labels;
  double value;
};

/// A reader of the text format: refuses what its grammar does not allow, samples without a type, split families.
std::vector<Sample> exposition(const std::string& text) {
  static const std::regex comment(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
  static const std::regex line(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+))");
  static const std::regex label(R"re(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$))re");
  std::vector<Sample> samples;
  std::set<std::string> families;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  std::string current;
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) {
    std::smatch match;
    if (std::regex_match(one, match, comment)) {
      if (match[1] == "HELP") {
        EXPECT_TRUE(families.insert(match[2]).second) << "family twice: " << one;
      } else {
        EXPECT_EQ(match[3], "gauge");
      }
      current = match[2];
      continue;
    }
    EXPECT_TRUE(std::regex_match(one, match, line)) << one;
    Sample sample{match[1], {}, 0};
    EXPECT_EQ(sample.family, current) << "sample outside of its family";
    std::string rest = match[3];
    for (std::smatch part; std::regex_search(rest, part, label, std::regex_constants::match_continuous);) {
      std::string value;
      const std::string raw = part[2];
      for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '\\') {
          value += raw[i];
        } else {
          ++i;
          value += raw[i] == 'n' ? '\n' : raw[i];
        }
      }
      sample.labels[part[1]] = value;
      rest = part.suffix();
    }
    EXPECT_EQ(rest, "") << one;
    char* end = nullptr;
    const std::string number = match[4];
    sample.value = std::strtod(number.c_str(), &end);
    EXPECT_EQ(*end, '\0') << one;
    EXPECT_TRUE(seen.emplace(sample.family, sample.labels).second) << "series twice: " << one;
    samples.push_back(std::move(sample));
  }
  return samples;
}

TEST(Prometheus, ValuesInBaseUnits) {
  std::map<std::string, double> first;
  for (const Sample& sample : exposition(reports::prometheus_text(example()))) {
    first.emplace(sample.family, sample.value);
  }
  EXPECT_DOUBLE_EQ(first.at("mla_harness_case_time_seconds"), 811500e-9);
  EXPECT_NEAR(first.at("mla_harness_case_bytes_per_second"), 75661312 / 811500e-9, 1e3);
  EXPECT_NEAR(first.at("mla_harness_case_ceiling_ratio"), 0.6112, 1e-4);
  EXPECT_DOUBLE_EQ(first.at("mla_harness_cases"), 2);
  EXPECT_DOUBLE_EQ(first.at("mla_harness_case_passed"), 1);
}

TEST(Prometheus, HostileLabelsComeBackWhole) {
  const std::string text = reports::prometheus_text(hostile());
  bool host = false;
  bool name = false;
  for (const Sample& sample : exposition(text)) {
    for (const auto& [label, value] : sample.labels) {
      host = host || (label == "host" && value == kHostile);
      name = name || (label == "name" && value == kHostile);
    }
  }
  EXPECT_TRUE(host);
  EXPECT_TRUE(name);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Prometheus, OfNoCases) {
  EXPECT_FALSE(
      exposition(reports::prometheus_text(reports::parse_report(example_report(std::vector<Json>{})))).empty());
}

// --- CSV ------------------------------------------------------------------------------------------------------------

/// A reader of RFC 4180.
std::vector<std::vector<std::string>> records(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] != '"') {
        rows.back().back() += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += text[i++];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      EXPECT_EQ(rows.back().back(), "") << "a quote inside an unquoted field";
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text.compare(i, 2, "\r\n") == 0) {
      rows.emplace_back(1, "");
      ++i;
    } else {
      rows.back().back() += text[i];
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "the last record must end its line";
  rows.pop_back();
  return rows;
}

std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == column) return rows[row][i];
  }
  return "no such column";
}

TEST(Csv, EveryCaseIsARecordOfTheSameFields) {
  const auto rows = records(reports::csv_text(example()));
  ASSERT_EQ(rows.size(), 11U);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(std::set<std::string>(rows[0].begin(), rows[0].end()).size(), rows[0].size());
  EXPECT_EQ(cell(rows, 1, "key"), "decode:b=16,kv=4096 @eigen");
  EXPECT_EQ(cell(rows, 1, "axis_kv_max"), "4096");
  EXPECT_EQ(cell(rows, 1, "axis_fp8_encoding"), "");
  EXPECT_EQ(cell(rows, 3, "verdict"), "failed");
  EXPECT_EQ(cell(rows, 3, "median_ns"), "");
}

TEST(Csv, NumbersReadBackExactly) {
  const auto report = example();
  const auto rows = records(reports::csv_text(report));
  EXPECT_EQ(std::stod(cell(rows, 2, "tb_per_s")), report.cases[1].performance->tb_per_s);
  EXPECT_EQ(std::stod(cell(rows, 2, "median_ns")), report.cases[1].performance->median_ns);
}

TEST(Csv, HostileTextStaysInItsField) {
  const auto rows = records(reports::csv_text(hostile()));
  ASSERT_EQ(rows.size(), 3U);
  for (const char* column : {"name", "reason", "axis_dist"}) EXPECT_EQ(cell(rows, 1, column), kHostile) << column;
}

// --- Markdown -------------------------------------------------------------------------------------------------------

TEST(ReportMarkdown, VerdictThenWrongCasesThenSpeed) {
  const std::string text = reports::report_markdown(example(), {.link = "https://ci.example/run/7"});
  EXPECT_THAT(text, StartsWith("### MLA harness: 5 of 10 cases not right\n\n10 cases: passed 2, failed 1"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("[Dashboard](https://ci.example/run/7)"),
                    HasSubstr("| decode:b=2 &#64;eigen | failed | hard\\_bound: row 3 is 2.1 times its bound off | "
                              "`mla-harness run decode:b=2 --provider eigen` |"),
                    HasSubstr("- eigen: 1 case measured, median 61 % of the nearer ceiling")));
}

TEST(ReportMarkdown, OfARightReportIsShort) {
  const std::string text =
      reports::report_markdown(reports::parse_report(example_report({example_case("decode:b=1", "eigen")})));
  EXPECT_THAT(text, AllOf(StartsWith("### MLA harness: all right\n"), Not(HasSubstr("|"))));
}

TEST(ReportMarkdown, RowsAreLimitedAndHostileTextStaysText) {
  std::vector<Json> cases;
  for (int i = 0; i < 30; ++i)
    cases.push_back(example_case("decode:b=" + std::to_string(i + 1), "eigen", Verdict::failed));
  EXPECT_THAT(reports::report_markdown(reports::parse_report(example_report(cases)), {.max_rows = 7}),
              HasSubstr("... and 23 more."));
  const std::string text = reports::report_markdown(hostile(), {.link = "x) <b>"});
  EXPECT_THAT(text, AllOf(HasSubstr("(x%29%20%3Cb%3E)"), Not(HasSubstr("<h>")), Not(HasSubstr("*g*"))));
}

TEST(Export, NamesItsFormats) {
  for (const std::string_view format : reports::kExportFormats) {
    EXPECT_FALSE(reports::export_as(format, example()).empty()) << format;
  }
  EXPECT_THAT(refusal([] { (void)reports::export_as("yaml", example()); }),
              HasSubstr("format 'yaml': must be one of csv, custom, gbench"));
}

}  // namespace
}  // namespace mla::suites
