#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/error.hpp"
#include "harness/suite/suite.hpp"
#include "suites/suite/temporary_file.hpp"

namespace mla::harness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A suite whose members beside schema and name are given.
std::string suite_of(const std::string& members) {
  return R"({"schema":{"name":"mla-harness-suite","version":"1.0.0"},"name":"s",)" + members + "}";
}
std::string case_of(const std::string& members) {
  return suite_of(R"("cases":[{)" + members + "}]");
}
std::string group_of(const std::string& members) {
  return suite_of(R"("groups":[{"name":"g",)" + members + "}]");
}
std::string trace_of(const std::string& members) {
  return suite_of(R"("traces":[{"name":"t",)" + members + "}]");
}

Suite load(const std::string& text, const SuiteOptions& options = {}) {
  const TemporaryFile file(text);
  return load_suite(file.path(), options);
}

std::string error_of(const std::string& text, const SuiteOptions& options = {}) {
  const TemporaryFile file(text);
  try {
    (void)load_suite(file.path(), options);
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file.path().string()), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "no error";
}

struct Malformed {
  const char* what;
  std::string text;
  const char* message;  // a part of the error, enough to tell which rule spoke
};

const std::string kGood = R"("name":"a","problem":"decode:kv=8")";

std::vector<Malformed> malformed_suites() {
  const std::string axes = R"("axes":{"kv":[1,2]})";
  return {
      {"empty_file", "", "byte 1: not strict JSON"},
      {"truncated", R"({"schema":{"name":"mla-)", "byte 24: not strict JSON"},
      {"nan", group_of(R"("axes":{"scale":[NaN]})"), "not strict JSON: parse error at line 1, column 108"},
      {"infinity", group_of(R"("axes":{"scale":[-Infinity]})"), "not strict JSON"},
      {"number_beyond_double", group_of(R"("axes":{"scale":[1e999]})"), "number overflow parsing '1e999'"},
      {"comment", "// a suite\n" + case_of(kGood), "byte 1: not strict JSON"},
      {"text_after_the_end", case_of(kGood) + "x", "not strict JSON"},
      {"not_utf8", suite_of("\"description\":\"\xff\""), "not strict JSON"},
      {"nul_byte", std::string("\0{}", 3), "byte 1: not strict JSON"},
      {"duplicate_key", R"({"name":"a","name":"b"})", "/ = 'name': the key is given twice"},
      {"duplicate_nested_key", group_of(R"("axes":{"kv":[1],"kv":[2]})"), "/groups/0/axes/ = 'kv': the key is given"},
      {"too_deep", std::string(100'000, '['), "nested deeper than the 32 levels"},
      {"root_is_array", "[]", "(root) = 'array of 0': an object is needed"},
      {"unknown_key", suite_of(R"("groops":[])"), "(root) = 'groops': unknown key"},
      {"no_schema", R"({"name":"s","cases":[]})", "the key 'schema' is missing"},
      {"other_schema", R"({"schema":{"name":"report","version":"1.0.0"},"name":"s"})", "/schema/name = 'report'"},
      {"later_schema", R"({"schema":{"name":"mla-harness-suite","version":"1.1.0"},"name":"s"})", "/schema/version"},
      {"no_cases", suite_of(R"("description":"d")"), "at least one of cases, groups and traces"},
      {"empty_cases", suite_of(R"("cases":[])"), "/cases = 'array of 0': at least one element"},
      {"cases_is_object", suite_of(R"("cases":{})"), "/cases = 'object of 0': an array is needed"},
      {"case_is_string", suite_of(R"("cases":["decode:"])"), "/cases/0 = 'decode:': an object is needed"},
      {"case_without_name", case_of(R"("problem":"decode:")"), "/cases/0 = 'object of 1': the key 'name' is missing"},
      {"case_name_with_blank", case_of(R"("name":"a b","problem":"decode:")"), "/cases/0/name = 'a b'"},
      {"case_name_too_long", case_of(R"("problem":"decode:","name":")" + std::string(101, 'a') + "\""),
       "/cases/0/name"},
      {"case_unknown_key", case_of(kGood + R"(,"dtype":"fp8")"), "/cases/0 = 'dtype': unknown key"},
      {"problem_is_number", case_of(R"("name":"a","problem":5)"), "/cases/0/problem = '5': a string is needed"},
      {"problem_negative", case_of(R"("name":"a","problem":"decode:kv=-1")"), "/cases/0/problem: kv = '-1'"},
      {"problem_overflow", case_of(R"("name":"a","problem":"decode:kv=99999999999999999999")"), "/cases/0/problem: kv"},
      {"problem_unknown_field", case_of(R"("name":"a","problem":"decode:heads=8")"), "/cases/0/problem: problem field"},
      {"problem_unknown_operation", case_of(R"("name":"a","problem":"encode:")"), "/cases/0/problem: problem = 'enc"},
      {"same_name", suite_of(R"("cases":[{"name":"a","problem":"decode:kv=8"},{"name":"a","problem":"decode:kv=9"}])"),
       "/cases/1/name = 'a': the name is given twice"},
      {"same_problem",
       suite_of(R"("cases":[{"name":"a","problem":"decode:kv=8"},{"name":"b","problem":"decode:kv=8+8,b=2"},)"
                R"({"name":"c","problem":"decode:b=2,kv=2x8"}])"),
       "cases 'b' and 'c' are the same problem"},
      {"providers_is_string", case_of(kGood + R"(,"providers":"torch")"), "/cases/0/providers = 'torch': an array"},
      {"providers_empty", case_of(kGood + R"(,"providers":[])"), "/cases/0/providers = 'array of 0'"},
      {"provider_twice", case_of(kGood + R"(,"providers":["torch","torch"])"), "/cases/0/providers/1 = 'torch'"},
      {"why_is_null", case_of(kGood + R"(,"why":null)"), "/cases/0/why = 'null': a string is needed"},
      {"group_without_axes", group_of(R"("base":{"kv":1})"), "axes or zip is needed"},
      {"axes_empty", group_of(R"("axes":{})"), "/groups/0/axes = 'object of 0': at least one field"},
      {"axis_empty", group_of(R"("axes":{"kv":[]})"), "/groups/0/axes/kv = 'array of 0': at least one element"},
      {"axis_is_number", group_of(R"("axes":{"kv":8})"), "/groups/0/axes/kv = '8': an array is needed"},
      {"axis_value_is_object", group_of(R"("axes":{"kv":[{}]})"), "/groups/0/axes/kv/0 = 'object of 0'"},
      {"axis_value_is_null", group_of(R"("axes":{"kv":[null]})"), "/groups/0/axes/kv/0 = 'null'"},
      {"axis_value_twice", group_of(R"("axes":{"kv":[1,2,1]})"), "/groups/0/axes/kv = '1': the value is listed twice"},
      {"axis_unknown_field", group_of(R"("axes":{"heads":[1]})"), "/groups/0: field = 'heads': decode has no such"},
      {"axis_value_smuggles_field", group_of(R"("axes":{"kv":["8,h=4"]})"), "/groups/0/axes/kv/0 = '8,h=4'"},
      {"axis_value_out_of_range", group_of(R"("axes":{"h":[16,129]})"), "/groups/0: h = '129'"},
      {"axis_also_in_base", group_of(R"("base":{"kv":1},"axes":{"kv":[2]})"), "the field is set twice"},
      {"zip_also_in_axes", group_of(R"("zip":{"kv":[1]},"axes":{"kv":[2]})"), "the field is set twice"},
      {"zip_lengths_differ", group_of(R"("zip":{"b":[1,2],"kv":[1,2,3]})"),
       "/groups/0/zip/kv = 'array of 3': 2 values"},
      {"zip_empty", group_of(R"("zip":{})"), "/groups/0/zip"},
      {"unknown_model", group_of(R"("model":"gpt","axes":{"kv":[1]})"), "/groups/0: model = 'gpt': one of deepseek"},
      {"tp_does_not_divide", group_of(R"("model":"kimi-k2","tp":3,"axes":{"kv":[1]})"),
       "/groups/0: tp = '3': a divisor"},
      {"tp_zero", group_of(R"("model":"kimi-k2","tp":0,"axes":{"kv":[1]})"), "/groups/0/tp = '0'"},
      {"tp_without_model", group_of(R"("tp":8,"axes":{"kv":[1]})"), "/groups/0/tp = '8': tp needs a model"},
      {"model_and_heads", group_of(R"("model":"kimi-k2","base":{"h":8},"axes":{"kv":[1]})"),
       "h = '8': the field is set"},
      {"unknown_operation", group_of(R"("operation":"prefill",)" + axes), "/groups/0/operation = 'prefill'"},
      {"pairwise_is_string", group_of(R"("pairwise":"yes",)" + axes), "/groups/0/pairwise = 'yes': true or false"},
      {"limit_is_fraction", group_of(R"("max_total_kv":1.5,)" + axes), "/groups/0/max_total_kv = '1.5': an integer"},
      {"limit_beyond_int64", group_of(R"("max_total_kv":18446744073709551615,)" + axes), "/groups/0/max_total_kv"},
      {"limit_leaves_nothing", group_of(R"("max_total_kv":1,"axes":{"kv":[2,3]})"), "max_total_kv leaves no case"},
      {"lengths_unknown", group_of(R"("base":{"b":2,"kv":9},"axes":{"lengths":["zigzag"]})"), "lengths = 'zigzag'"},
      {"lengths_without_kv", group_of(R"("base":{"b":2},"axes":{"lengths":["ragged"]})"), "kv and b are needed too"},
      {"group_named_twice", suite_of(R"("groups":[{"name":"g",)" + axes + R"(},{"name":"g","axes":{"kv":[3]}}])"),
       "/groups/1/name = 'g': the name is given twice"},
      {"trace_without_source", trace_of(R"("tp":8)"), "/traces/0 = 'object of 2': the key 'source' is missing"},
      {"trace_unknown", trace_of(R"("source":"mine")"), "/traces/0/source = 'mine': one of mooncake"},
      {"trace_snapshot_beyond_1", trace_of(R"("source":"azure-2023-code","snapshots":[1.5])"), "/traces/0/snapshots/0"},
      {"trace_unknown_key", trace_of(R"("source":"azure-2023-code","batch":4)"), "/traces/0 = 'batch': unknown key"},
      {"trace_bad_field", trace_of(R"("source":"azure-2023-code","base":{"page":3})"), "/traces/0: page = '3'"},
  };
}

class MalformedSuite : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedSuite, IsRefusedInOneLine) {
  EXPECT_THAT(error_of(GetParam().text), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Loader, MalformedSuite, testing::ValuesIn(malformed_suites()),
                         [](const auto& one) { return one.param.what; });

TEST(Loader, RefusesAGridFromItsSizes) {
  std::string axes;
  for (const char* field : {"kv", "b", "seed", "cu", "splits"}) {
    axes += (axes.empty() ? "\"" : ",\"") + std::string(field) + "\":[1";
    for (int i = 2; i <= 1000; ++i) axes += "," + std::to_string(i);
    axes += "]";
  }
  const std::string axes_key = "\"axes\":{" + axes + "}";
  EXPECT_THAT(error_of(group_of(axes_key)), HasSubstr("its axes make more cases than the 100000"));
  EXPECT_THAT(error_of(group_of("\"pairwise\":true," + axes_key)), HasSubstr("more pairs of values than the 100000"));
}

TEST(Loader, CountsCasesOverAllGroups) {
  SuiteOptions options;
  options.max_cases = 3;
  const std::string two_groups =
      suite_of(R"("groups":[{"name":"a","axes":{"kv":[1,2]}},{"name":"b","axes":{"kv":[3,4]}}])");
  EXPECT_THAT(error_of(two_groups, options), HasSubstr("more cases than the 1 still allowed"));
  options.max_cases = 4;
  EXPECT_EQ(load(two_groups, options).cases.size(), 4u);
}

TEST(Loader, RefusesMoreRequestsThanMemory) {
  std::string seeds = "0";
  for (int i = 1; i < 600; ++i) seeds += "," + std::to_string(i);
  const std::string text =
      group_of(R"("base":{"h":1,"b":65536,"kv":"32768x1+32768x2"},"axes":{"seed":[)" + seeds + "]}");
  EXPECT_THAT(error_of(text), HasSubstr("requests are allowed over all cases"));
}

TEST(Loader, RefusesALargeFile) {
  SuiteOptions options;
  options.json.bytes = 1000;
  EXPECT_THAT(error_of(case_of(kGood) + std::string(1000, ' '), options), HasSubstr("larger than the 1000 bytes"));
}

// Cut anywhere, a suite is refused with one line.
TEST(Loader, RefusesEveryTruncation) {
  const std::string whole = read_file(find_suite("smoke"), 1 << 20);
  const std::size_t end = whole.rfind('}');
  for (std::size_t length = 0; length <= end; length += 23) {
    EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("not strict JSON")) << length;
  }
}

// Damaged anywhere, a suite loads or is refused with one line; nothing else may happen.
TEST(Loader, SurvivesDamage) {
  const std::string whole = read_file(find_suite("smoke"), 1 << 20);
  const std::string replacements("\"{[-9,\xff\0", 8);
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 13) {
    std::string damaged = whole;
    damaged[at] = replacements[at / 13 % replacements.size()];
    if (error_of(damaged) != "no error") ++refused;
  }
  EXPECT_GT(refused, static_cast<int>(whole.size() / 13 / 3));
}

TEST(Loader, RefusesWhatIsNoFile) {
  const auto load_path = [](const char* path) { return load_suite(path); };
  EXPECT_THROW((void)load_path("/nonexistent/suite.json"), UsageError);
  EXPECT_THROW((void)load_path("/"), UsageError);
}

TEST(Loader, ReadsANamedCase) {
  const Suite suite =
      load(suite_of(R"("description":"d","cases":[{"name":"a.b-c_1","problem":"decode:kv=2x8+9","source":"x#1",)"
                    R"("why":"w","providers":["eigen","torch"]}])"));
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.description, "d");
  ASSERT_EQ(suite.cases.size(), 1u);
  const SuiteCase& one = suite.cases.front();
  EXPECT_EQ(one.problem.word(), "decode:b=3,kv=2x8+9");
  EXPECT_EQ(one.suite, "s");
  EXPECT_EQ(one.name, "a.b-c_1");
  EXPECT_EQ(one.source, "x#1");
  EXPECT_EQ(one.why, "w");
  EXPECT_THAT(one.providers, ElementsAre("eigen", "torch"));
}

TEST(Loader, OverlappingGroupsWidenTheProviders) {
  const std::string narrow = R"({"name":"a","axes":{"kv":[1,2]},"providers":["eigen"]})";
  const Suite two =
      load(suite_of("\"groups\":[" + narrow + R"(,{"name":"b","axes":{"kv":[2,3]},"providers":["torch"]}])"));
  ASSERT_EQ(two.cases.size(), 3u);
  EXPECT_THAT(two.cases[1].providers, ElementsAre("eigen", "torch"));
  const Suite all = load(suite_of("\"groups\":[" + narrow + R"(,{"name":"b","axes":{"kv":[2]}}])"));
  ASSERT_EQ(all.cases.size(), 2u);
  EXPECT_THAT(all.cases[1].providers, IsEmpty());
}

TEST(Loader, ANamedCaseStandsForTheGridPointItRepeats) {
  const Suite suite = load(suite_of(R"("groups":[{"name":"g","axes":{"kv":[8,9]}}],"cases":[{)" + kGood + "}]"));
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_EQ(suite.cases[0].name, "a");
  EXPECT_EQ(suite.cases[1].name, "g/kv=9");
}

// Sets MLA_SUITES for one test.
class SuitesVariable {
 public:
  explicit SuitesVariable(const std::string& value) { setenv("MLA_SUITES", value.c_str(), 1); }
  ~SuitesVariable() { unsetenv("MLA_SUITES"); }
  SuitesVariable(const SuitesVariable&) = delete;
  SuitesVariable& operator=(const SuitesVariable&) = delete;
};

TEST(FindSuite, TakesBareNamesFromTheSuitesThatComeAlong) {
  EXPECT_EQ(find_suite("smoke"), suites_directory() / "smoke.json");
  EXPECT_THROW((void)find_suite("smok"), UsageError);
  EXPECT_THROW((void)find_suite(""), UsageError);
  EXPECT_THROW((void)find_suite("./smoke"), UsageError);
}

TEST(FindSuite, TakesPathsAsTheyAre) {
  const TemporaryFile file(case_of(kGood));
  EXPECT_EQ(find_suite(file.path().string()), file.path());
}

TEST(FindSuite, LooksWhereTheEnvironmentSays) {
  const TemporaryFile file(suite_of(R"("description":"mine","cases":[{)" + kGood + "}]"));
  const std::filesystem::path directory = file.path().string() + ".d";
  std::filesystem::create_directory(directory);
  std::filesystem::copy_file(file.path(), directory / "own.json");
  {
    const SuitesVariable variable(directory.string());
    EXPECT_EQ(find_suite("own"), directory / "own.json");
    EXPECT_THROW((void)find_suite("smoke"), UsageError);
    const std::vector<BuiltinSuite> suites = builtin_suites();
    ASSERT_EQ(suites.size(), 1u);
    EXPECT_EQ(suites.front().name, "own");
    EXPECT_EQ(suites.front().description, "mine");
  }
  {
    const SuitesVariable variable("/nonexistent");
    EXPECT_THROW((void)builtin_suites(), UsageError);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace mla::harness
