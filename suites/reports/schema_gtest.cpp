// The schema file, the reader's own rules and what the writers produce must say the same.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare.hpp"
#include "reports/load.hpp"
#include "reports/margins.hpp"
#include "reports/pair/pair_json.hpp"
#include "suites/reports/example_report.hpp"
#include "suites/support/json_schema.hpp"

namespace mla::suites {
namespace {

/// A file of reports/schema, ready to judge documents.
class SchemaFile {
 public:
  explicit SchemaFile(const std::string& name) : schema_(std::filesystem::path(MLA_REPORT_SCHEMAS) / name) {}

  /// What is wrong, or an empty text.
  [[nodiscard]] std::string objection(const Json& document) const {
    return schema_.objections(nlohmann::json::parse(document.dump()));
  }

 private:
  test::JsonSchema schema_;
};

const SchemaFile& report_schema() {
  static const SchemaFile schema("mla-harness-report-1.2.schema.json");
  return schema;
}

TEST(ReportSchema, AcceptsWhatTheWriterMakes) {
  EXPECT_EQ(report_schema().objection(example_report()), "");
}

TEST(ReportSchema, AcceptsACaseOfWhichOnlyTheNecessaryIsKnown) {
  Json crashed = example_case("decode:b=1", "eigen", Verdict::crashed);
  for (const char* member : {"kernel", "input_digest", "correctness", "safety", "performance", "elapsed_ms"}) {
    crashed.erase(member);
  }
  const Json report = example_report({crashed});
  EXPECT_EQ(report_schema().objection(report), "");
  EXPECT_NO_THROW((void)reports::parse_report(report));
}

/// JSON pointers of every value below `value`.
void collect(const Json& value, const std::string& pointer, std::vector<std::string>& pointers) {
  if (!pointer.empty()) pointers.push_back(pointer);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) collect(member, pointer + "/" + key, pointers);
  } else if (value.is_array() && !value.empty()) {
    // Elements of an array follow one rule.
    collect(value[0], pointer + "/0", pointers);
  }
}

/// A failed and two passed cases: between them every member that a case can have, each list as short as it may be,
/// since the test below validates some thousands of them.
Json small_report() {
  Json passed = example_case("decode:b=2", "eigen");
  passed["performance"]["launch_samples_ns"] = {{811500.0}};
  passed["performance"]["clocks"] = example_clocks();
  passed["axes"] = {{"h", 16}, {"dtype", "bf16"}};
  Json baseline = passed;
  baseline["key"] = "decode:b=2 @torch";
  baseline["provider"] = "torch";
  Json failed = example_case("decode:b=1", "eigen", Verdict::failed);
  failed["known_failure"] = example_case("decode:b=1", "eigen", Verdict::known_failure)["known_failure"];
  return example_report({failed, passed, baseline});
}

bool reader_accepts(const Json& document, std::string& message) {
  message = refusal([&] { (void)reports::parse_report(document); });
  return message == "nothing thrown";
}

/// The quick way of reading a file, which leaves refusals to the other one, must accept nothing more.
bool file_reader_accepts(const Json& document, const std::filesystem::path& file) {
  put(file, document.dump());
  return refusal([&] { (void)reports::load_report(file, reports::CaseJson::drop); }) == "nothing thrown";
}

/// Rules of the reader that a schema cannot state.
bool beyond_schema(const std::string& message) {
  for (const char* rule : {"such cases", "two cases of one report", "must be the problem, ' @'",
                           "within launch_samples", "ascending order", "at most the shard count"}) {
    if (message.find(rule) != std::string::npos) return true;
  }
  return false;
}

/// Replaces each value of a report in turn by each of the probes, and removes each member: reader and schema must
/// agree.
TEST(ReportSchema, AgreesWithTheReaderOnEverySingleChange) {
  const Json probes =
      Json::array({nullptr, true, -1, 0, 3, 0.5, "", "text", "2026-12-01T01:02:03Z", "passed", "nan", Json::array(),
                   Json::array({1}), Json::object(), Json::object({{"x", 1}}), Json::object({{"x", "y"}})});
  const Json original = small_report();
  std::vector<std::string> pointers;
  for (const char* part :
       {"/schema", "/run", "/environment", "/ceilings/0", "/cases/0/reason", "/cases/0/verdict", "/cases/0/locus",
        "/cases/0/known_failure", "/cases/0/performance", "/cases/1", "/summary"}) {
    collect(original.at(Json::json_pointer(part)), part, pointers);
  }
  ASSERT_GT(pointers.size(), 100U);
  int refused = 0;
  const TemporaryFolder folder;
  const auto check = [&](const Json& document, const std::string& what) {
    std::string message;
    const bool accepted = reader_accepts(document, message);
    refused += accepted ? 0 : 1;
    EXPECT_EQ(file_reader_accepts(document, folder / "r.json"), accepted) << what;
    if (!accepted && beyond_schema(message)) return;
    const std::string objection = report_schema().objection(document);
    EXPECT_EQ(accepted, objection.empty()) << what << "\nreader: " << message << "\nschema: " << objection;
  };
  for (const std::string& pointer : pointers) {
    const Json::json_pointer place(pointer);
    for (const Json& probe : probes) {
      Json document = original;
      document.at(place) = probe;
      check(document, pointer + " := " + probe.dump());
    }
    Json document = original;
    if (document.at(place.parent_pointer()).is_object()) {
      document.at(place.parent_pointer()).erase(place.back());
      check(document, "without " + pointer);
    }
    if (document.at(place.parent_pointer()).is_object()) {
      document = original;
      document.at(place.parent_pointer())["surplus"] = 1;
      check(document, "surplus beside " + pointer);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ReportSchema, DescribesEveryField) {
  const Json schema =
      Json::parse(contents_of(std::filesystem::path(MLA_REPORT_SCHEMAS) / "mla-harness-report-1.2.schema.json"));
  std::vector<std::string> bare;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& value, const std::string& path) {
    if (!value.is_structured()) return;
    for (const auto& [key, member] : value.items()) {
      const bool in_conditions = path.find("/allOf") != std::string::npos;
      if (key == "properties" && !in_conditions) {
        for (const auto& [name, field] : member.items()) {
          if (!field.contains("description")) bare.push_back(path + "/" + name);
        }
      }
      walk(member, path + "/" + key);
    }
  };
  walk(schema, "");
  EXPECT_THAT(bare, ::testing::IsEmpty());
}

TEST(ComparisonSchema, AcceptsWhatTheWriterMakes) {
  const SchemaFile schema("mla-harness-comparison-1.1.schema.json");
  const auto report = reports::parse_report(example_report());
  const auto other = reports::parse_report(small_report());
  EXPECT_EQ(schema.objection(reports::comparison_json(reports::compare(report, report))), "");
  EXPECT_EQ(schema.objection(reports::comparison_json(reports::compare(report, other))), "");
  EXPECT_EQ(schema.objection(reports::comparison_json(reports::compare(other, report))), "");
  EXPECT_NE(schema.objection(Json::object()), "");
}

TEST(MarginsSchema, AgreesWithTheReader) {
  const SchemaFile schema("mla-harness-margins-1.0.schema.json");
  reports::Margins margins;
  margins.rules.push_back({"* @torch", 0.05, "threads move"});
  margins.canaries = {"* @frozen"};
  margins.floors = {"8f1d", 1, {{"decode:b=1 @eigen", {0.01}}}};
  const Json good = reports::margins_json(margins);
  const TemporaryFolder folder;
  std::vector<std::string> pointers;
  collect(good, "", pointers);
  int refused = 0;
  const auto check = [&](const Json& document) {
    put(folder / "m.json", document.dump());
    const bool accepted = refusal([&] { (void)reports::load_margins(folder / "m.json"); }) == "nothing thrown";
    EXPECT_EQ(schema.objection(document).empty(), accepted) << document.dump();
    refused += accepted ? 0 : 1;
  };
  check(good);
  EXPECT_EQ(refused, 0);
  for (const std::string& pointer : pointers) {
    const Json::json_pointer place(pointer);
    for (const Json& probe :
         Json::array({nullptr, -1, 0, 0.5, 2, "", "text", Json::array(), Json::object({{"x", 1}})})) {
      Json document = good;
      document.at(place) = probe;
      check(document);
    }
    Json document = good;
    if (!document.at(place.parent_pointer()).is_object()) continue;
    document.at(place.parent_pointer()).erase(place.back());
    check(document);
  }
  EXPECT_GT(refused, 50);
}

TEST(PairSchema, AcceptsWhatTheWriterMakes) {
  const SchemaFile schema("mla-harness-pair-1.0.schema.json");
  const SchemaFile comparison("mla-harness-comparison-1.1.schema.json");
  const SchemaFile one_launch("mla-harness-launch-1.0.schema.json");
  const auto report = reports::parse_report(example_report());
  std::vector<reports::PairLaunch> launches;
  for (int i = 0; i < 8; ++i) {
    const Json clocks = i == 0 ? Json{{"source", "nvml"}} : Json();
    launches.push_back({.key = report.cases.front().key,
                        .stage = i < 4 ? reports::PairStage::screen : reports::PairStage::confirm,
                        .pair = i % 4 / 2,
                        .side = i % 2 == 0 ? reports::PairSide::base : reports::PairSide::next,
                        .first = i % 2 == 0,
                        .times = {"steady_clock", "hot", {1e6 + i, 1.1e6}, clocks},
                        .failure = {}});
    EXPECT_EQ(one_launch.objection(reports::launch_json(launches.back().times)), "");
  }
  const auto executable = [](const char* path) { return Json{{"path", path}, {"digest", "0123456789abcdef"}}; };
  reports::PairRun run{"2026-12-01T01:02:03Z", "2026-12-01T01:12:03Z", true, {"mla-harness", "pair"}, {}};
  run.design = {{"base", executable("a")},
                {"new", executable("b")},
                {"machine", "f"},
                {"inputs", {"smoke"}},
                {"providers", Json::array()},
                {"filter", ""},
                {"seed", 0},
                {"screen_pairs", 2},
                {"confirm_pairs", 2},
                {"screen_level", 0.1},
                {"margin", 0.02},
                {"margins", reports::margins_json({})},
                {"warmup_s", 0.1},
                {"budget_s", 0.5},
                {"cache", nullptr}};
  const auto cases = reports::pair_up(launches);
  const Json document = reports::pair_json(reports::judge(report, report, cases, {}), cases, run);
  EXPECT_EQ(document.at("cases")[0].at("pairs").size(), 4U);
  EXPECT_EQ(schema.objection(document), "");
  EXPECT_EQ(comparison.objection(document.at("comparison")), "");
  run.complete = false;
  EXPECT_EQ(schema.objection(reports::pair_json(reports::judge(report, report, {}, {}), {}, run)), "");
  EXPECT_NE(schema.objection(Json::object()), "");
}

}  // namespace
}  // namespace mla::suites
