#include <cmath>
#include <numeric>
#include <vector>

#include "reports/export/formats.hpp"
#include "reports/statistics/median.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

Json context_of(const Report& report) {
  const Run& run = report.run;
  Json context;
  context["date"] = run.started_utc;
  context["host_name"] = report.environment.host;
  context["executable"] = run.argv.empty() ? "mla-harness" : run.argv.front();
  context["num_cpus"] = report.environment.cores;
  context["caches"] = Json::array();
  context["load_avg"] = Json::array();
  context["library_build_type"] = run.build_type == "Debug" ? "debug" : "release";
  context["json_schema_version"] = 1;
  context["mla_run_id"] = run.id;
  context["mla_git_sha"] = run.git_sha;
  context["mla_fingerprint"] = report.environment.fingerprint;
  if (!report.environment.gpu_name.empty()) context["mla_gpu"] = report.environment.gpu_name;
  return context;
}

/// Members that every entry has, in the library's order.
Json entry_of(const Case& entry, std::size_t family, std::size_t repetitions) {
  Json json;
  json["name"] = entry.key;
  json["family_index"] = family;
  json["per_family_instance_index"] = 0;
  json["run_name"] = entry.key;
  json["run_type"] = "iteration";
  json["repetitions"] = repetitions;
  json["threads"] = 1;
  return json;
}

void set_time(Json& json, double ns) {
  json["real_time"] = ns;
  json["cpu_time"] = ns;
  json["time_unit"] = "ns";
}

/// Counters stand beside the other members, as the library writes them.
void set_rates(Json& json, const Performance& performance, double ns) {
  json["bytes_per_second"] = performance.bytes / ns * 1e9;
  json["flops_per_second"] = performance.flops / ns * 1e9;
}

void add_aggregate(Json& list, Json json, std::string_view name, double value, std::string_view unit) {
  json["name"] = json["run_name"].get<std::string>() + "_" + std::string(name);
  json["run_type"] = "aggregate";
  json["aggregate_name"] = std::string(name);
  json["aggregate_unit"] = std::string(unit);
  json["iterations"] = json["repetitions"];
  set_time(json, value);
  list.push_back(std::move(json));
}

void add_measured(Json& list, const Case& entry, std::size_t family) {
  const Performance& performance = *entry.performance;
  const std::size_t launches = performance.launch_samples_ns.size();
  std::vector<double> medians;
  for (const auto& samples : performance.launch_samples_ns) {
    Json json = entry_of(entry, family, launches);
    json["repetition_index"] = medians.size();
    json["iterations"] = samples.size();
    medians.push_back(statistics::median(samples));
    set_time(json, medians.back());
    set_rates(json, performance, medians.back());
    list.push_back(std::move(json));
  }
  if (launches < 2) return;
  const Json common = entry_of(entry, family, launches);
  const auto n = static_cast<double>(launches);
  const double mean = std::accumulate(medians.begin(), medians.end(), 0.0) / n;
  double squares = 0;
  for (const double ns : medians) squares += (ns - mean) * (ns - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  add_aggregate(list, common, "mean", mean, "time");
  add_aggregate(list, common, "median", statistics::median(medians), "time");
  add_aggregate(list, common, "stddev", deviation, "time");
  add_aggregate(list, common, "cv", deviation / mean, "percentage");
}

}  // namespace

std::string benchmark_json(const Report& report) {
  Json list = Json::array();
  std::size_t family = 0;
  for (const Case& entry : report.cases) {
    if (entry.performance) {
      add_measured(list, entry, family++);
    } else if (is_wrong(entry.verdict)) {
      Json json = entry_of(entry, family++, 1);
      json["repetition_index"] = 0;
      json["error_occurred"] = true;
      json["error_message"] = entry.reason ? entry.reason->kind + ": " + entry.reason->message : "";
      json["iterations"] = 0;
      set_time(json, 0);
      list.push_back(std::move(json));
    }
  }
  return dump_strict({{"context", context_of(report)}, {"benchmarks", std::move(list)}}, 1) + "\n";
}

}  // namespace mla::reports
