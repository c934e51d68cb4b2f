#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/error.hpp"
#include "reports/isa_compare.hpp"

namespace mla::suites {
namespace {

using reports::compare_isa;
using reports::CompareExit;
using reports::IsaChange;
using reports::IsaComparison;
using reports::IsaPresence;
using reports::IsaReport;
using reports::Json;
using reports::parse_isa_report;
using reports::ReportError;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Json kernel(const std::string& name = "decode.bf16.bf16.16") {
  Json record = Json::parse(R"json({"target": "gfx950", "name": "", "kernel": "void f<int>(int)",
    "resources": {"vgpr": 216, "scratch_bytes": 0, "waves_per_simd": 2},
    "code": {"total": 2000, "matrix": 34},
    "hot_loop": {"total": 760, "matrix": 17},
    "budget": {"max": {"resources.vgpr": 256, "resources.scratch_bytes": 0, "hot_loop.total": 800},
               "min": {"resources.waves_per_simd": 1}}})json");
  record["name"] = name;
  return record;
}

Json document(const std::vector<Json>& kernels) {
  return {{"schema", "mla-isa 1.1"}, {"compiler", "clang 21"}, {"kernels", kernels}};
}

IsaReport report(const std::vector<Json>& kernels) {
  return parse_isa_report(document(kernels));
}

Json with(const char* pointer, const Json& value) {
  Json changed = kernel();
  changed.at(Json::json_pointer(pointer)) = value;
  return changed;
}

IsaComparison compared(const Json& next) {
  return compare_isa(report({kernel()}), report({next}));
}

TEST(IsaCompare, EqualReportsDoNotDiffer) {
  const IsaComparison comparison = compared(kernel());
  EXPECT_EQ(comparison.exit(), CompareExit::ok);
  EXPECT_THAT(comparison.changed, IsEmpty());
  EXPECT_EQ(comparison.kernels, 1U);
  EXPECT_THAT(isa_comparison_text(comparison), EndsWith("OK: no change; 1 kernel compared\n"));
}

TEST(IsaCompare, ABudgetedNumberThatGetsWorseIsARegressionEvenWithinItsLimit) {
  for (const auto& [pointer, value] : {std::pair{"/resources/vgpr", 217}, std::pair{"/resources/waves_per_simd", 1},
                                       std::pair{"/hot_loop/total", 761}, std::pair{"/resources/scratch_bytes", 4}}) {
    EXPECT_EQ(compared(with(pointer, value)).exit(), CompareExit::regression) << pointer;
  }
}

TEST(IsaCompare, BetterOrNotBudgetedIsNone) {
  for (const auto& [pointer, value] : {std::pair{"/resources/vgpr", 200}, std::pair{"/resources/waves_per_simd", 3},
                                       std::pair{"/code/total", 9000}, std::pair{"/hot_loop/matrix", 99}}) {
    const IsaComparison comparison = compared(with(pointer, value));
    EXPECT_EQ(comparison.exit(), CompareExit::ok) << pointer;
    EXPECT_THAT(comparison.changed, SizeIs(1)) << pointer;
  }
}

TEST(IsaCompare, DifferencesNameTheNumberItsLimitAndTheVerdictWorstFirst) {
  Json next = with("/resources/vgpr", 200);
  next["hot_loop"]["total"] = 790;
  next["code"]["total"] = 2100;
  const IsaComparison comparison = compared(next);
  ASSERT_THAT(comparison.changed, SizeIs(1));
  const auto& differences = comparison.changed[0].differences;
  EXPECT_THAT(differences, ElementsAre(Field(&reports::IsaDifference::change, IsaChange::worse),
                                       Field(&reports::IsaDifference::change, IsaChange::better),
                                       Field(&reports::IsaDifference::change, IsaChange::changed)));
  EXPECT_EQ(differences[0].quantity, "hot_loop.total");
  EXPECT_EQ(differences[0].limit, 800);
  EXPECT_EQ(differences[2].limit, std::nullopt);
  const std::string text = isa_comparison_text(comparison, {200, false});
  EXPECT_THAT(text, HasSubstr("+30 (+3.9 %)"));
  EXPECT_THAT(text, EndsWith("REGRESSION: 1 budgeted number got worse; 1 kernel compared\n"));
  EXPECT_THAT(isa_comparison_markdown(comparison), HasSubstr("| hot\\_loop.total | 760 | 790 |"));
  const Json json = isa_comparison_json(comparison);
  EXPECT_EQ(json.at("exit_code"), 1);
  EXPECT_EQ(json.at("kernels").at(0).at("differences").at(0).at("change"), "worse");
  EXPECT_EQ(json.at("kernels").at(0).at("differences").at(2).at("limit"), nullptr);
}

TEST(IsaCompare, ALimitThatNewDroppedStillCounts) {
  Json next = with("/resources/vgpr", 217);
  next.erase("budget");
  EXPECT_EQ(compared(next).exit(), CompareExit::regression);
}

TEST(IsaCompare, ALoopThatVanishedCountsAsNothing) {
  const IsaComparison comparison = compared(with("/hot_loop", nullptr));
  EXPECT_EQ(comparison.exit(), CompareExit::ok) << "760 to 0 instructions is no more";
  EXPECT_THAT(isa_comparison_text(comparison, {200, false}), HasSubstr("hot_loop.total"));
}

TEST(IsaCompare, KernelsThatCameOrWentAreShown) {
  const IsaComparison comparison = compare_isa(report({kernel("a"), kernel("b")}), report({kernel("b"), kernel("c")}));
  EXPECT_EQ(comparison.exit(), CompareExit::ok);
  ASSERT_THAT(comparison.changed, SizeIs(2));
  EXPECT_EQ(comparison.changed[0].name, "c");
  EXPECT_EQ(comparison.changed[0].presence, IsaPresence::added);
  EXPECT_EQ(comparison.changed[1].name, "a");
  EXPECT_EQ(comparison.changed[1].presence, IsaPresence::removed);
  EXPECT_THAT(isa_comparison_text(comparison, {200, false}), HasSubstr("removed"));
}

TEST(IsaReport, OfTheFirstVersionNamesKernelsByTheirSignatureAndHasNoLimits) {
  Json old = kernel();
  old.erase("name");
  old.erase("budget");
  const IsaReport read = parse_isa_report({{"schema", "mla-isa 1.0"}, {"kernels", {old}}});
  EXPECT_EQ(read.kernels.at(0).name, "void f<int>(int)");
  EXPECT_THAT(read.kernels.at(0).max, IsEmpty());
}

TEST(IsaReport, RefusesWhatItWouldMisread) {
  const auto refusal = [](const Json& json) -> std::string {
    try {
      (void)parse_isa_report(json);
    } catch (const ReportError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({{"schema", "mla-isa 2.0"}, {"kernels", {kernel()}}}), HasSubstr("/schema"));
  EXPECT_THAT(refusal({{"kernels", {kernel()}}}), HasSubstr("schema"));
  EXPECT_THAT(refusal(document({})), HasSubstr("/kernels"));
  EXPECT_THAT(refusal(document({kernel(), kernel()})), HasSubstr("twice"));
  EXPECT_THAT(refusal(document({with("/resources/vgpr", "216")})), HasSubstr("/kernels/0/resources/vgpr"));
  EXPECT_THAT(refusal(document({with("/budget/max/resources.vgpr", 1.5)})), HasSubstr("integer"));
  EXPECT_THAT(refusal(document({kernel()})), IsEmpty());
}

}  // namespace
}  // namespace mla::suites
