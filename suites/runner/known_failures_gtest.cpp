// The list of known failures that comes with the harness, held against the runs that it is about.
#include "harness/runner/known_failures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/problem/problem.hpp"
#include "harness/suite/suite.hpp"

namespace mla::harness {
namespace {

TEST(KnownFailures, ListExplainsEachFailureOfThePeersRecordAndNothingElse) {
  const KnownFailures list = KnownFailures::load(KnownFailures::default_file(), "2026-12-01");
  const std::filesystem::path record = suites_directory().parent_path() / "reports/records/h200/peers.json";
  std::ifstream stream(record);
  const auto report = nlohmann::ordered_json::parse(stream);
  int failed = 0;
  for (nlohmann::ordered_json one : report.at("cases")) {
    const std::string key = one.at("key");
    const std::string before = one.at("verdict");
    const Problem problem = Problem::parse(one.at("problem").get<std::string>());
    const std::string provider = one.at("provider");
    list.apply({*problem.visit([](const DecodeProblem& p) { return &p; }), provider, "gpu", "", "NVIDIA H200"}, one);
    EXPECT_EQ(one.at("verdict"), before == "failed" ? "known_failure" : before) << key;
    failed += before == "failed" ? 1 : 0;
  }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace mla::harness
