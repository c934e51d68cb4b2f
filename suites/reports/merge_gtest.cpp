#include "reports/merge.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::Shard;
using ::testing::HasSubstr;

/// Shard `index` of `count` with the one case decode:b=`index`.
Json shard_document(int index, int count) {
  Json document = example_report({example_case("decode:b=" + std::to_string(index), "eigen")});
  document["run"]["shard"] = {{"index", index}, {"count", count}};
  return document;
}

Shard shard(const Json& document) {
  return {"shard-" + document["run"]["shard"]["index"].dump() + ".json", reports::parse_report(document)};
}

TEST(Merge, PutsShardsInOrderWhateverTheOrderTheyAreGivenIn) {
  const std::vector shards = {shard(shard_document(3, 3)), shard(shard_document(1, 3)), shard(shard_document(2, 3))};
  const Json merged = reports::merge(shards);
  const auto report = reports::parse_report(merged);
  ASSERT_EQ(report.cases.size(), 3U);
  EXPECT_EQ(report.cases[0].problem, "decode:b=1");
  EXPECT_EQ(report.cases[2].problem, "decode:b=3");
  EXPECT_EQ(report.run.shard_count, 1);
  EXPECT_TRUE(report.run.complete);
  EXPECT_NEAR(report.elapsed_s, 3 * 55.2, 1e-9);
}

TEST(Merge, IsCompleteOnlyWhereEveryShardIs) {
  Json second = shard_document(2, 2);
  second["run"]["status"] = "interrupted";
  const Json merged = reports::merge(std::vector{shard(shard_document(1, 2)), shard(second)});
  EXPECT_EQ(merged["run"]["status"], "interrupted");
}

TEST(Merge, RefusesAMissingOrRepeatedShard) {
  const auto merged = [](std::vector<Shard> shards) { return refusal([&] { (void)reports::merge(shards); }); };
  EXPECT_THAT(merged({}), HasSubstr("no shards"));
  EXPECT_THAT(merged({shard(shard_document(2, 2))}), HasSubstr("shard 1 of 2 is missing"));
  EXPECT_THAT(merged({shard(shard_document(1, 2))}), HasSubstr("shard 2 of 2 is missing"));
  EXPECT_THAT(merged({shard(shard_document(1, 3)), shard(shard_document(3, 3))}), HasSubstr("shard 2 of 3 is missing"));
  EXPECT_THAT(merged({shard(shard_document(1, 2)), shard(shard_document(1, 2))}),
              HasSubstr("shard-1.json and shard-1.json are both shard 1 of 2"));
}

TEST(Merge, RefusesACaseInTwoShards) {
  Json second = shard_document(2, 2);
  second["cases"] = shard_document(1, 2)["cases"];
  EXPECT_THAT(refusal([&] {
                (void)reports::merge(std::vector{shard(shard_document(1, 2)), shard(second)});
              }),
              HasSubstr("shard-1.json and shard-2.json both hold decode:b=1 @eigen"));
}

class ForeignShard : public ::testing::TestWithParam<std::pair<const char*, Json>> {};

TEST_P(ForeignShard, IsRefusedByTheMemberThatDiffers) {
  Json second = shard_document(2, 2);
  second.at(Json::json_pointer(GetParam().first)) = GetParam().second;
  EXPECT_THAT(refusal([&] {
                (void)reports::merge(std::vector{shard(shard_document(1, 2)), shard(second)});
              }),
              HasSubstr("shard-2.json does not belong to shard-1.json: /"));
}

INSTANTIATE_TEST_SUITE_P(Each, ForeignShard,
                         ::testing::Values(std::pair{"/environment/fingerprint", Json("0000")},
                                           std::pair{"/run/seed", Json(1)}, std::pair{"/run/mode", Json("C")},
                                           std::pair{"/run/git/dirty", Json(true)},
                                           std::pair{"/run/shard/count", Json(3)},
                                           std::pair{"/run/suites", Json::array({"models"})},
                                           std::pair{"/run/build/type", Json("Debug")}));

}  // namespace
}  // namespace mla::suites
