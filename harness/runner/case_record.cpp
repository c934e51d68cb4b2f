#include "harness/runner/case_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <sstream>

#include "harness/core/build_info.hpp"
#include "harness/problem/decode_fields.hpp"
#include "reports/version.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

Json run_json(const RunOptions& options) {
  const BuildInfo build = build_info();
  const GitState git = git_state();
  std::random_device random;
  Json run;
  run["id"] = fmt::format("{:%Y%m%dT%H%M%SZ}-{:06x}", fmt::gmtime(std::time(nullptr)), random() & 0xffffffU);
  run["started_utc"] = utc_now();
  run["argv"] = options.argv;
  run["version"] = build.version;
  run["git"] = {{"sha", git.sha}, {"branch", git.branch}, {"dirty", git.dirty}};
  run["build"] = {{"compiler", build.compiler}, {"type", build.type}, {"flags", build.flags}};
  run["build"]["targets"] = Json::array();
  std::istringstream targets(build.targets);
  for (std::string target; targets >> target;) run["build"]["targets"].push_back(target);
  run["mode"] = name_of(options.mode);
  run["seed"] = options.selection.seed.value_or(0);
  run["shard"] = {{"index", options.selection.shard.index}, {"count", options.selection.shard.count}};
  run["suites"] = options.selection.inputs;
  return run;
}

Json environment_json(const Environment& machine) {
  return {{"host", machine.host},
          {"os", machine.os},
          {"kernel", machine.kernel},
          {"cpu",
           {{"model", machine.cpu.model},
            {"cores", machine.cpu.cores},
            {"llc_bytes", machine.cpu.llc_bytes},
            {"isa", machine.cpu.isa}}},
          {"memory_bytes", machine.memory_bytes},
          {"gpu", machine.gpu.empty() ? Json() : Json::object({{"name", machine.gpu}})},
          {"libraries", machine.libraries},
          {"fingerprint", fingerprint(machine)}};
}

Json axes_json(const DecodeProblem& problem, const Provider& provider) {
  const auto& fields = problem.fields();
  Json axes{{"operation", "decode"}};
  for (const DecodeField& field : decode_fields()) axes[std::string(field.name)] = field.print(fields);
  // Numbers where a dashboard plots against them; the texts of lists (q, kv) and of named values stay as they are.
  axes["h"] = fields.heads;
  axes["b"] = fields.batch;
  axes["page"] = fields.page_size;
  axes["causal"] = fields.causal;
  axes["scale"] = fields.sm_scale;
  axes["qs"] = fields.q_scale;
  axes["ks"] = fields.kv_scale;
  axes["seed"] = fields.seed;
  axes["cu"] = fields.workers;
  axes["splits"] = fields.split_limit;
  axes["pool"] = fields.pool_pages;
  const DataType kv_type = resolve(fields.kv_type, provider.native_fp8());
  axes["fp8_encoding"] = is_fp8(kv_type) ? Json(name_of(kv_type)) : Json();
  axes["tokens_q"] = problem.total_q();
  axes["tokens_kv"] = problem.total_kv();
  axes["kv_max"] = *std::max_element(fields.kv_lens.begin(), fields.kv_lens.end());
  return axes;
}

}  // namespace

std::string repro_command(const std::string& word, const Provider& provider, RunMode mode) {
  const std::string command = fmt::format("mla-harness run {} --provider {}", word, provider.name());
  return mode == RunMode::check_and_measure ? command : fmt::format("{} --mode {}", command, name_of(mode));
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Json report_header(const RunOptions& options, const Environment& environment, std::span<const Ceiling> ceilings) {
  Json header;
  header["schema"] = {{"name", reports::kReportSchema}, {"version", reports::kReportVersion}};
  header["run"] = run_json(options);
  header["environment"] = environment_json(environment);
  header["ceilings"] = Json::array();
  for (const Ceiling& ceiling : ceilings) {
    header["ceilings"].push_back({{"name", ceiling.name},
                                  {"device", ceiling.device},
                                  {"value", ceiling.value ? Json(*ceiling.value) : Json()},
                                  {"unit", ceiling.unit},
                                  {"note", ceiling.note.empty() ? Json() : Json(ceiling.note)}});
  }
  return header;
}

Json case_identity(const PlannedProblem& plan, const Provider& provider, RunMode mode) {
  Json record;
  record["key"] = case_key(plan.word, provider);
  record["repro"] = repro_command(plan.word, provider, mode);
  record["problem"] = plan.word;
  record["provider"] = provider.name();
  record["device"] = provider.device();
  record["suites"] = Json::array();
  for (const SuiteMembership& suite : plan.suites) {
    record["suites"].push_back(
        {{"suite", suite.suite}, {"name", suite.name}, {"source", suite.source.empty() ? Json() : Json(suite.source)}});
  }
  record["axes"] = plan.problem.visit([&](const auto& problem) { return axes_json(problem, provider); });
  return record;
}

}  // namespace mla::harness
