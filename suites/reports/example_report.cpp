#include "suites/reports/example_report.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace mla::suites {
namespace {

Json reason_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::failed: return {{"kind", "hard_bound"}, {"message", "row 3 is 2.1 times its bound off"}};
    case Verdict::mistrusted: return {{"kind", "undetectable"}, {"message", "a dropped token would not show"}};
    case Verdict::skipped: return {{"kind", "unsupported_dtype"}, {"message", "no fp8 on this target"}};
    case Verdict::unimplemented: return {{"kind", "unsupported_operation"}, {"message", "prefill is not implemented"}};
    case Verdict::crashed: return {{"kind", "signal"}, {"message", "SIGABRT"}};
    case Verdict::timeout: return {{"kind", "timeout"}, {"message", "killed after 60 s"}};
    case Verdict::known_failure: return {{"kind", "known_failure"}, {"message", "page size 1 reads past the pool"}};
    case Verdict::passed:
    case Verdict::unexpected_pass: return nullptr;
  }
  return nullptr;
}

bool was_checked(Verdict verdict) {
  return verdict == Verdict::passed || verdict == Verdict::failed || verdict == Verdict::mistrusted ||
         verdict == Verdict::known_failure || verdict == Verdict::unexpected_pass;
}

Json correctness(Verdict verdict) {
  if (!was_checked(verdict)) return nullptr;
  const bool wrong = verdict == Verdict::failed || verdict == Verdict::known_failure;
  Json result;
  result["reference"] = "eigen_f64";
  result["precision"] = {{"probabilities", "f32"}, {"row_sum_of_rounded", false}, {"partial_output", "f32"}};
  result["elements"] = 131072;
  result["rows"] = 256;
  result["tiers"] = {{"hard", {{"verdict", wrong ? "failed" : "passed"}, {"max_ratio", wrong ? 2.1 : 0.43}}},
                     {"lse", {{"verdict", "passed"}, {"max_ratio", 0.02}}}};
  result["nonfinite"] = {{"got", wrong ? 1 : 0}, {"ref", 0}};
  result["abs_max"] = 0.001;
  result["rel_l2"] = 0.0017;
  result["distributions"] = {
      {"sharp",
       {{"tiers", {{"hard", {{"verdict", "passed"}, {"max_ratio", 0.4}}}}}, {"abs_max", 0.002}, {"rel_l2", 0.0016}}}};
  result["probes"] = {{"E1", {{"verdict", "passed"}, {"max_ratio", 0.5}}}};
  result["detectability"] = {
      {"dropped_token",
       {{"hard", 1.5}, {"stat", 23.6}, {"lse", 4.5}, {"probes", verdict == Verdict::mistrusted ? 0.0 : 90.0}}}};
  result["worst"] = Json::array({{{"tier", "hard"},
                                  {"index", {{"token", 3}, {"request", 3}, {"head", 7}, {"dim", 12}}},
                                  {"got", wrong ? Json("nan") : Json(0.1)},
                                  {"ref", 0.101},
                                  {"ratio", wrong ? Json(nullptr) : Json(0.43)}}});
  return result;
}

}  // namespace

Json example_header() {
  Json header;
  header["schema"] = {{"name", "mla-harness-report"}, {"version", "1.2.0"}};
  header["run"] = {{"id", "20261201T010203Z-4f2a9c"},
                   {"started_utc", "2026-12-01T01:02:03Z"},
                   {"ended_utc", nullptr},
                   {"argv", {"mla-harness", "run", "smoke"}},
                   {"version", "0.1.0"},
                   {"git", {{"sha", "0123456789abcdef0123456789abcdef01234567"}, {"branch", "main"}, {"dirty", false}}},
                   {"build",
                    {{"compiler", "GNU 12.2.0"},
                     {"type", "Release"},
                     {"flags", "-O3 -march=native"},
                     {"targets", Json::array({"cpu"})}}},
                   {"mode", "CP"},
                   {"seed", 0},
                   {"shard", {{"index", 1}, {"count", 1}}},
                   {"suites", Json::array({"smoke"})}};
  header["environment"] = {{"host", "node7"},
                           {"os", "Debian GNU/Linux 12 (bookworm)"},
                           {"kernel", "6.1.0"},
                           {"cpu", {{"model", "AMD EPYC"}, {"cores", 2}, {"llc_bytes", 33554432}, {"isa", "avx2"}}},
                           {"memory_bytes", 25769803776},
                           {"gpu", nullptr},
                           {"libraries", {{"eigen", "3.4.0"}, {"libtorch", "1.13.1"}}},
                           {"fingerprint", "8f1d4c22a0b35e71"}};
  header["ceilings"] = {
      {{"name", "memory_read"}, {"device", "cpu"}, {"value", 21.3}, {"unit", "GB/s"}, {"note", nullptr}},
      {{"name", "matmul_f32"}, {"device", "cpu"}, {"value", 4600.0}, {"unit", "GFLOP/s"}, {"note", nullptr}},
      {{"name", "matmul_bf16"},
       {"device", "cpu"},
       {"value", nullptr},
       {"unit", "GFLOP/s"},
       {"note", "libtorch has no fast bf16 matmul on this processor"}}};
  return header;
}

Json example_performance(double median_ns, int launches, double launch_spread) {
  // Symmetric around 0 in both directions, so that the medians are exact.
  static constexpr std::array within = {-0.002, 0.001, -0.0005, 0.0, 0.0, 0.0005, -0.001, 0.002};
  Json samples = Json::array();
  for (int launch = 0; launch < launches; ++launch) {
    const double place = launches == 1 ? 0 : 2.0 * launch / (launches - 1) - 1;
    Json list = Json::array();
    for (const double offset : within) list.push_back(median_ns * (1 + launch_spread * place + offset));
    samples.push_back(list);
  }
  const double flops = 2281701376;
  const double bytes = 75661312;
  return {{"timer", "steady_clock"},
          {"cache", "hot"},
          {"launch_samples_ns", samples},
          {"median_ns", median_ns},
          {"ci95_ns", {median_ns * 0.999, median_ns * 1.001}},
          {"bytes", bytes},
          {"flops", flops},
          {"tb_per_s", bytes / median_ns / 1e3},
          {"tflop_per_s", flops / median_ns / 1e3},
          {"ceiling", {{"bound", "compute"}, {"name", "matmul_f32"}, {"percent", flops / median_ns / 46}}},
          {"stages_ns", Json::array({{{"stage", "plan"}, {"ns", 1200.0}}})}};
}

Json example_clocks() {
  return {{"source", "nvml"},
          {"start",
           {{"sm_mhz", 1980.0},
            {"memory_mhz", 3201.0},
            {"power_w", 212.5},
            {"temperature_c", 41.0},
            {"throttle", Json::array()}}},
          {"end", {{"cpu_mhz", 2300.0}, {"throttle", Json::array({"power_cap"})}}}};
}

Json example_case(std::string_view problem, std::string_view provider, Verdict verdict) {
  Json result;
  result["key"] = fmt::format("{} @{}", problem, provider);
  result["repro"] = fmt::format("mla-harness run {} --provider {}", problem, provider);
  result["problem"] = std::string(problem);
  result["provider"] = std::string(provider);
  result["device"] = "cpu";
  result["suites"] = Json::array({{{"suite", "models"}, {"name", nullptr}, {"source", nullptr}}});
  result["kernel"] = {{"name", "flash_decode"}, {"variant", "f32"}, {"digest", "a1b2c3d4e5f60718"}};
  result["axes"] = {{"operation", "decode"},
                    {"h", 16},
                    {"b", 16},
                    {"q", "1"},
                    {"kv", "4096"},
                    {"page", 64},
                    {"dtype", "bf16"},
                    {"fp8_encoding", nullptr},
                    {"causal", true},
                    {"scale", 0.1352},
                    {"dist", "randn"},
                    {"seed", 0},
                    {"tokens_q", 16},
                    {"tokens_kv", 65536},
                    {"kv_max", 4096}};
  result["input_digest"] = "00ff00ff00ff00ff";
  result["verdict"] = std::string(reports::name_of(verdict));
  result["reason"] = reason_of(verdict);
  result["locus"] = verdict == Verdict::failed
                        ? Json({{"kind", "token"}, {"message", "head 5 of 16 alone: token 7 has no weight"}})
                        : Json(nullptr);
  result["metamorphic"] = verdict == Verdict::passed ? Json::array({{{"relation", "page_size"},
                                                                     {"verdict", "passed"},
                                                                     {"message", "page 16 as page 64"},
                                                                     {"max_ratio", 0.25},
                                                                     {"bitwise", false}}})
                                                     : Json(nullptr);
  const bool known = verdict == Verdict::known_failure || verdict == Verdict::unexpected_pass;
  result["known_failure"] = known ? Json({{"reason", "a race"},
                                          {"source", "aiter#4638"},
                                          {"expires", "2027-01-31"},
                                          {"expired", false},
                                          {"verdict", verdict == Verdict::known_failure ? "failed" : "passed"}})
                                  : Json(nullptr);
  result["correctness"] = correctness(verdict);
  result["safety"] = was_checked(verdict) ? Json({{"canary", "ok"},
                                                  {"poison_left", 0},
                                                  {"inputs_unchanged", true},
                                                  {"bitwise_repeats", 2},
                                                  {"bitwise_equal", true}})
                                          : Json(nullptr);
  result["performance"] = verdict == Verdict::passed ? example_performance(811500) : Json(nullptr);
  result["elapsed_ms"] = {{"inputs", 300}, {"reference", 800}, {"run", 12}, {"check", 40}, {"measure", 900}};
  return result;
}

Json timed_case(std::string_view problem, std::string_view provider, const Json& performance) {
  Json result = example_case(problem, provider);
  result["performance"] = performance;
  return result;
}

Json example_report(const std::vector<Json>& cases) {
  return reports::assemble(example_header(), cases,
                           {.ended_utc = "2026-12-01T01:02:58Z", .complete = true, .elapsed_s = 55.2});
}

Json example_report() {
  std::vector<Json> cases = {example_case("decode:b=16,kv=4096", "eigen"),
                             timed_case("decode:b=16,kv=4096", "torch", example_performance(5193600))};
  cases[0]["suites"][0]["name"] = "deepseek-v3-tp8";
  cases[1]["suites"][0]["name"] = "deepseek-v3-tp8";
  cases[0]["performance"]["clocks"] = example_clocks();
  for (const Verdict verdict : reports::kVerdicts) {
    if (verdict == Verdict::passed) continue;
    cases.push_back(example_case(fmt::format("decode:b={}", cases.size()), "eigen", verdict));
  }
  return example_report(cases);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "mla-reports-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const std::filesystem::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary).write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

}  // namespace mla::suites
