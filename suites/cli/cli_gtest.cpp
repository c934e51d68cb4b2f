// The subcommands from outside, with the providers that ship.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suites/support/command.hpp"

namespace mla::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

CommandResult harness(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MLA_HARNESS);
  return run_command(arguments);
}

CommandResult faulty(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MLA_FAULTY_HARNESS);
  return run_command(arguments);
}

json read_json(const std::string& path) {
  return json::parse(std::ifstream(path));
}

TEST(Cli, HelpExplainsProblemsAndExitCodes) {
  const CommandResult result = harness({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  for (const char* text : {"run", "compare", "explain", "doctor", "page", "130 interrupted", "decode:b=16,kv=4096"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
  EXPECT_THAT(harness({"run", "--help"}).out,
              AllOf(HasSubstr("--resume"), HasSubstr("--shard"), HasSubstr("--timeout")));
}

TEST(Cli, VersionIsOneLine) {
  const CommandResult result = harness({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("mla-harness 0."));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
}

TEST(Cli, WrongChoiceIsToldTheChoices) {
  for (const char* option : {"--mode", "--progress", "--cache"}) {
    const CommandResult result = harness({"run", "smoke", option, "sideways"});
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.err, AllOf(HasSubstr(option), HasSubstr("sideways not in {"), HasSubstr("}")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_TRUE(std::all_of(result.err.begin(), result.err.end() - 1, [](unsigned char c) { return std::isprint(c); }))
        << option;
  }
}

TEST(Cli, ListShowsSuitesProvidersAndCases) {
  const CommandResult all = harness({"list"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("smoke"), HasSubstr("models"), HasSubstr("edge"), HasSubstr("eigen")));
  const json cases =
      json::parse(harness({"list", "edge", "--json", "--provider", "eigen", "--filter", "aiter#2106|tail"}).out);
  ASSERT_FALSE(cases.empty());
  for (const json& item : cases) EXPECT_EQ(item.at("provider"), "eigen");
}

TEST(Cli, ExplainCountsBytesFlopsAndPlan) {
  const CommandResult result = harness({"explain", "decode:h=16,b=128,kv=4096,cu=132"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // 128 requests x (4096 tokens x 576 x 2 bytes + 16 heads x (576 x 2 + 512 x 2 + 4) bytes)
  EXPECT_THAT(result.out, HasSubstr(std::to_string(128L * (4096 * 576 * 2 + 16 * (576 * 2 + 512 * 2 + 4)))));
  EXPECT_THAT(result.out, HasSubstr(std::to_string(2L * 128 * 16 * (576 + 512) * 4096)));
  EXPECT_THAT(result.out, AllOf(HasSubstr("memory-bound"), HasSubstr("of 132 workers")));
}

TEST(Cli, ExplainEstimatesFromTheCompiledLoop) {
  const TemporaryFolder folder;
  const std::string isa = folder.file("isa.json");
  std::ofstream(isa) << R"({"schema": "mla-isa 1.1", "kernels": [
      {"target": "gfx950", "name": "decode.bf16.bf16.16", "resources": {"vgpr": 1},
       "hot_loop": {"total": 600, "matrix_flops": 1000}}]})";
  const CommandResult result = harness({"explain", "decode:h=16,b=256,kv=4096", "--isa", isa});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // 256 requests x 4096 tokens x 576 x 2 bytes at 8 TB/s: as many workers, so nothing is split.
  EXPECT_THAT(result.out, AllOf(HasSubstr("not measured"), HasSubstr("600 instructions"), HasSubstr(" 150.99 us"),
                                HasSubstr(" 128 turns")));
  // 16 requests among 256 workers: 4096 / 16 tokens in tiles of 32, whatever the fixed cost of a work is.
  EXPECT_THAT(harness({"explain", "decode:h=16,b=16,kv=4096", "--isa", isa}).out, HasSubstr(" 8 turns"));
  EXPECT_EQ(harness({"explain", "decode:h=16,b=1,kv=64,dtype=fp8", "--isa", isa}).exit_code, 4);
  const CommandResult absent = harness({"explain", "decode:h=16,b=1,kv=64", "--isa", folder.file("absent.json")});
  EXPECT_EQ(absent.exit_code, 4);
  EXPECT_EQ(absent.out, "");
}

TEST(Cli, DoctorNamesMachineProvidersAndFingerprint) {
  const CommandResult result = harness({"doctor"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("processor"), HasSubstr("eigen"), HasSubstr("torch"), HasSubstr("fingerprint")));
}

TEST(Cli, DoctorRequiresAMachineInOneLine) {
  EXPECT_EQ(harness({"doctor", "--require", "eigen"}).exit_code, 0);
  EXPECT_EQ(harness({"doctor", "--require", "eigen,torch"}).exit_code,
            harness({"doctor", "--require", "torch"}).exit_code);
  const CommandResult lacking = harness({"doctor", "--require", "eigen,gpu=gfx1,nobody"});
  EXPECT_EQ(lacking.exit_code, 3);
  EXPECT_EQ(lacking.out, "");
  EXPECT_THAT(lacking.err, AllOf(HasSubstr("lacks gpu=gfx1 ("), HasSubstr("nobody (no provider of that name")));
  EXPECT_THAT(lacking.err, ::testing::Not(HasSubstr("eigen")));
  EXPECT_EQ(std::count(lacking.err.begin(), lacking.err.end(), '\n'), 1);
}

TEST(Cli, EigenPassesAndItsReportBecomesAPage) {
  const TemporaryFolder folder;
  const std::string out = folder.file("report.json");
  const CommandResult run =
      harness({"run", "decode:b=3,kv=129+0+64,q=2,dtype=bf16.fp8", "--provider", "eigen", "--out", out});
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const json report = read_json(out);
  EXPECT_EQ(report.at("summary").at("passed"), 1);
  EXPECT_GT(report.at("cases").at(0).at("performance").at("median_ns"), 0);
  EXPECT_FALSE(report.at("ceilings").empty());
  const std::string page = folder.file("report.html");
  EXPECT_EQ(harness({"report", out, "--html", page}).exit_code, 0);
  EXPECT_GT(std::filesystem::file_size(page), 1000U);
  EXPECT_THAT(harness({"report", out}).out, HasSubstr("1 case: passed 1"));
}

// Compares the reports of two runs of the providers that fail on purpose, each over its own problems and provider.
int compare_exit(const std::vector<std::string>& base, const std::vector<std::string>& next,
                 const std::vector<std::string>& options = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> compare = {"compare"};
  for (const auto& [name, inputs] : {std::pair{"base.json", base}, std::pair{"next.json", next}}) {
    std::vector<std::string> run = {"run", "--mode", "C", "--progress", "never", "--out", folder.file(name)};
    run.insert(run.end(), inputs.begin(), inputs.end());
    const CommandResult result = faulty(run);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << result.err;
    compare.push_back(folder.file(name));
  }
  compare.insert(compare.end(), options.begin(), options.end());
  return faulty(compare).exit_code;
}

TEST(Compare, NeverPassesAWrongResultOrAVanishedCase) {
  const std::string one = "decode:h=1,kv=5";
  const std::string two = "decode:h=1,kv=6";
  const std::vector<std::string> good = {one, two, "--provider", "good"};
  EXPECT_EQ(compare_exit(good, good), 0);
  EXPECT_EQ(compare_exit(good, {one, "--provider", "good"}), 5);
  EXPECT_EQ(compare_exit(good, {one, "--provider", "good"}, {"--allow-missing"}), 0);
  EXPECT_EQ(compare_exit({one, "--provider", "good"}, good), 0);
  const std::vector<std::string> mixed = {one, "--provider", "good,wrong-value"};
  EXPECT_EQ(compare_exit(mixed, mixed), 2);
  EXPECT_EQ(compare_exit({one, "--provider", "good"}, mixed), 2);
  EXPECT_EQ(compare_exit({one, "--provider", "good,nan,aborts"}, {one, "--provider", "good"}), 5);
}

TEST(Compare, OfCompiledKernelsIsTheirs) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& schema, int vgpr) {
    json record = {{"target", "gfx950"}, {"name", "plan"}, {"resources", {{"vgpr", vgpr}}}};
    record["budget"] = {{"max", {{"resources.vgpr", 64}}}, {"min", json::object()}};
    // By hand: the schema comes first.
    std::ofstream(folder.file(name)) << "{\"schema\": \"" << schema << "\", \"kernels\": [" << record << "]}";
    return folder.file(name);
  };
  const std::string base = write("base.json", "mla-isa 1.1", 40);
  const std::string worse = write("worse.json", "mla-isa 1.1", 44);
  const std::string markdown = folder.file("kernels.md");
  const CommandResult regression = harness({"compare", base, worse, "--markdown", markdown});
  EXPECT_EQ(regression.exit_code, 1) << regression.err;
  EXPECT_THAT(regression.out, AllOf(HasSubstr("resources.vgpr"), HasSubstr("+4 (+10.0 %)"), HasSubstr("REGRESSION")));
  EXPECT_GT(std::filesystem::file_size(markdown), 100U);
  EXPECT_EQ(harness({"compare", worse, base}).exit_code, 0);
  EXPECT_EQ(harness({"compare", base, write("future.json", "mla-isa 2.0", 40)}).exit_code, 4);
  EXPECT_EQ(harness({"compare", base, write("report.json", "mla-harness-report", 40)}).exit_code, 4);
}

}  // namespace
}  // namespace mla::test
