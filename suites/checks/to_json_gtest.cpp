#include "harness/checks/to_json.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mla::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DecodeCheck some_check() {
  DecodeCheck check;
  check.elements = 1024;
  check.rows = 2;
  check.tiers = {{"hard", TierVerdict::passed, 0.5}, {"lse", TierVerdict::failed, kInfinity}};
  check.nonfinite_got = 1;
  check.abs_max = 0.25;
  check.rel_l2 = 0.125;
  check.worst = {{"hard", 0, 1, 2, 3, 0.5, 0.25, 0.5},
                 {"lse", 0, 1, 2, std::nullopt, std::numeric_limits<double>::quiet_NaN(), -kInfinity, kInfinity},
                 {"hard", 0, 1, 2, 3, std::nullopt, 0.25, kInfinity}};
  check.poison_left = 7;
  return check;
}

TEST(CorrectnessJson, HasTheMembersOfAReport) {
  const Json json = correctness_json(some_check(), {.probabilities = DataType::bf16, .row_sum_of_rounded = true});
  EXPECT_EQ(json.at("reference"), "eigen_f64");
  EXPECT_EQ(json.at("precision"), Json::parse(R"({"probabilities": "bf16", "row_sum_of_rounded": true,
                                                 "partial_output": "f32"})"));
  EXPECT_EQ(json.at("elements"), 1024);
  EXPECT_EQ(json.at("rows"), 2);
  EXPECT_EQ(json.at("tiers").at("hard"), Json::parse(R"({"verdict": "passed", "max_ratio": 0.5})"));
  EXPECT_EQ(json.at("nonfinite"), Json::parse(R"({"got": 1, "ref": 0})"));
  EXPECT_EQ(json.at("abs_max"), 0.25);
  EXPECT_EQ(json.at("rel_l2"), 0.125);
  EXPECT_EQ(json.at("worst").at(0), Json::parse(R"({"tier": "hard",
      "index": {"token": 1, "request": 0, "head": 2, "dim": 3}, "got": 0.5, "ref": 0.25, "ratio": 0.5})"));
}

TEST(CorrectnessJson, TierSHasItsFigures) {
  DecodeCheck check = some_check();
  check.tiers.push_back({"stat", TierVerdict::skipped, 0});
  check.spread = {
      .rms = 0.5, .row_rms = 1.5, .z_max = 4, .slope = 1.25, .slope_error = 0.5, .slope_limit = std::nullopt};
  EXPECT_EQ(correctness_json(check, {}).at("tiers").at("stat"),
            Json::parse(R"({"verdict": "skipped", "max_ratio": 0.0, "rms": 0.5, "row_rms_max": 1.5, "z_max": 4.0,
                            "slope": 1.25, "slope_error": 0.5, "slope_limit": null})"));
}

TEST(CorrectnessJson, NamesWhatJsonCannotWrite) {
  const Json json = correctness_json(some_check(), {});
  EXPECT_EQ(json.at("tiers").at("lse").at("max_ratio"), nullptr);
  EXPECT_EQ(json.at("worst").at(1), Json::parse(R"({"tier": "lse",
      "index": {"token": 1, "request": 0, "head": 2}, "got": "nan", "ref": "-inf", "ratio": null})"));
  EXPECT_EQ(json.at("worst").at(2).at("got"), nullptr) << "nothing was written";
  DecodeCheck infinite = some_check();
  infinite.rel_l2 = kInfinity;
  infinite.worst[0].got = kInfinity;
  EXPECT_EQ(correctness_json(infinite, {}).at("rel_l2"), nullptr);
  EXPECT_EQ(correctness_json(infinite, {}).at("worst").at(0).at("got"), "inf");
}

TEST(SafetyJson, HasWhatOneRunTells) {
  EXPECT_EQ(safety_json(some_check()), Json::parse(R"({"canary": "ok", "poison_left": 7})"));
}

}  // namespace
}  // namespace mla::harness
