#include "reports/dashboard/page_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reports/dashboard/columns.hpp"
#include "reports/detail/sections.hpp"

namespace mla::reports {
namespace {

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string safety_text(const Json& entry) {
  const auto safety = entry.find("safety");
  if (safety == entry.end() || safety->is_null()) return {};
  std::string text;
  for (const auto& [name, value] : safety->items()) {
    if (value.is_null()) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

Json tiers_json(const Json& entry) {
  Json tiers = Json::array();
  const auto correctness = entry.find("correctness");
  if (correctness == entry.end() || correctness->is_null()) return tiers;
  for (const auto& [name, tier] : correctness->at("tiers").items()) {
    tiers.push_back({name, tier.at("verdict"), tier.value("max_ratio", Json())});
  }
  return tiers;
}

/// The worst element, as the check recorded it.
Json worst_json(const Json& entry) {
  const auto correctness = entry.find("correctness");
  if (correctness == entry.end() || correctness->is_null()) return nullptr;
  const auto worst = correctness->find("worst");
  return worst == correctness->end() || !worst->is_array() || worst->empty() ? Json(nullptr) : worst->front();
}

/// How many samples a launch may show: a page of many cases shows fewer of each.
std::size_t samples_shown(const Report& report) {
  static constexpr std::size_t kOnPage = 200'000;
  std::size_t launches = 1;
  for (const Case& entry : report.cases) {
    if (entry.performance) launches += entry.performance->launch_samples_ns.size();
  }
  return std::clamp<std::size_t>(kOnPage / launches, 8, 200);
}

/// Deviations from the median in parts of 10,000, evenly spaced in the order in which they were taken.
Json samples_json(const Performance& performance, std::size_t shown) {
  Json launches = Json::array();
  for (const auto& samples : performance.launch_samples_ns) {
    const std::size_t count = std::min(shown, samples.size());
    Json list = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(std::lround(1e4 * (samples[i * samples.size() / count] / performance.median_ns - 1)));
    }
    launches.push_back(std::move(list));
  }
  return launches;
}

/// Five digits: more than any plot or table shows, in half the text.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::ceil(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

void set_performance(const Performance& performance, std::size_t shown, Columns& rows) {
  rows.set("median_ns", performance.median_ns);
  rows.set("low_ns", performance.ci95_low_ns);
  rows.set("high_ns", performance.ci95_high_ns);
  rows.set("bytes", performance.bytes);
  rows.set("flops", performance.flops);
  rows.set("tb_per_s", rounded(performance.tb_per_s));
  rows.set("tflop_per_s", rounded(performance.tflop_per_s));
  if (const auto& ceiling = performance.ceiling) {
    rows.set("percent", rounded(ceiling->percent));
    rows.set("bound", ceiling->bound);
    rows.set("ceiling", ceiling->name);
  }
  std::size_t count = 0;
  for (const auto& launch : performance.launch_samples_ns) count += launch.size();
  rows.set("sample_count", count);
  rows.set("samples", samples_json(performance, shown));
  rows.set("timer", performance.timer);
  rows.set("cache", performance.cache);
  Json stages = Json::array();
  for (const StageTime& stage : performance.stages) stages.push_back({stage.stage, rounded(stage.ns)});
  rows.set("stages", std::move(stages));
}

void set_case(const Case& entry, std::size_t shown, Columns& rows) {
  rows.set("problem", entry.problem);
  rows.set("provider", entry.provider);
  rows.set("device", entry.device);
  rows.set("repro", entry.repro);
  if (entry.short_name() != entry.problem) rows.set("name", entry.short_name());
  Json suites = Json::array();
  for (const SuiteName& suite : entry.suites) suites.push_back(suite.suite);
  rows.set("suites", std::move(suites));
  rows.set("verdict", std::string(name_of(entry.verdict)));
  if (entry.reason) rows.set("reason", Json::array({entry.reason->kind, entry.reason->message}));
  if (entry.kernel) {
    rows.set("kernel", Json::array({entry.kernel->name, entry.kernel->variant, entry.kernel->digest}));
  }
  rows.set("input_digest", entry.input_digest);
  rows.set("worst_ratio", or_null(entry.worst_ratio()));
  rows.set("tiers", tiers_json(entry.json));
  rows.set("worst", worst_json(entry.json));
  rows.set("safety", safety_text(entry.json));
  if (!entry.performance) return;
  set_performance(*entry.performance, shown, rows);
  // As the report has them: a driver tells what it knows.
  const Json& performance = entry.json.at("performance");
  if (const auto clocks = performance.find("clocks"); clocks != performance.end()) rows.set("clocks", *clocks);
}

Json cases_json(const Report& report) {
  std::map<std::string, const ProviderRatio*> ratios;
  for (const ProviderRatio& ratio : report.provider_ratios) ratios[ratio.problem + " @" + ratio.provider] = &ratio;
  const std::size_t shown = samples_shown(report);
  Columns rows;
  Columns axes;
  for (const Case& entry : report.cases) {
    rows.row();
    set_case(entry, shown, rows);
    if (const auto ratio = ratios.find(entry.key); ratio != ratios.end()) {
      rows.set("speedup", rounded(ratio->second->speedup));
      rows.set("baseline", ratio->second->baseline);
    }
    axes.row();
    for (const auto& [name, value] : entry.json.at("axes").items()) axes.set(name, value);
  }
  Json json = rows.take();
  json["axes"] = axes.take();
  return json;
}

Json report_json(const Report& report) {
  Json json = report.header;
  // A 64-bit seed does not survive JavaScript's numbers.
  json["run"]["seed"] = std::to_string(report.run.seed);
  json["elapsed_s"] = report.elapsed_s;
  json["warnings"] = report.warnings;
  json["counts"] = Json::object();
  for (const Verdict verdict : kVerdicts) json["counts"][std::string(name_of(verdict))] = report.counts.of(verdict);
  json["cases"] = cases_json(report);
  return json;
}

// --- comparison ------------------------------------------------------------------------------------------------------

Json side_json(const std::string& name, const Run& run, const std::string& fingerprint) {
  return {{"name", name},
          {"id", run.id},
          {"started_utc", run.started_utc},
          {"sha", run.git_sha},
          {"branch", run.git_branch},
          {"dirty", run.git_dirty},
          {"fingerprint", fingerprint}};
}

Json comparison_cases(const Comparison& comparison) {
  Columns rows;
  for (const CaseComparison& entry : comparison.cases) {
    rows.row();
    rows.set("problem", entry.problem);
    rows.set("provider", entry.provider);
    rows.set("repro", entry.repro);
    if (entry.name != entry.problem) rows.set("name", entry.name);
    if (entry.base) rows.set("base_verdict", std::string(name_of(*entry.base)));
    if (entry.next) rows.set("new_verdict", std::string(name_of(*entry.next)));
    rows.set("change", std::string(name_of(entry.change)));
    rows.set("speed", std::string(name_of(entry.speed)));
    if (entry.reason) rows.set("reason", entry.reason->kind + ": " + entry.reason->message);
    if (const auto& ratio = entry.ratio) {
      rows.set("ratio", ratio->estimate);
      rows.set("low", ratio->low);
      rows.set("high", ratio->high);
      rows.set("margin", ratio->margin);
      rows.set("detectable", or_null(ratio->detectable));
      rows.set("base_ns", ratio->base_ns);
      rows.set("new_ns", ratio->next_ns);
      rows.set("launches", Json::array({ratio->base_launches, ratio->next_launches}));
    }
    if (entry.kernel_changed) rows.set("kernels", Json::array({entry.base_kernel, entry.next_kernel}));
    if (!entry.note.empty()) rows.set("note", entry.note);
  }
  return rows.take();
}

Json comparison_json_of(const Comparison& comparison) {
  return {{"exit", static_cast<int>(comparison.exit())},
          {"verdict", detail::verdict_line(comparison)},
          {"margin", comparison.options.margin},
          {"base", side_json(comparison.options.base_name, comparison.base, comparison.base_fingerprint)},
          {"new", side_json(comparison.options.next_name, comparison.next, comparison.next_fingerprint)},
          {"notes", comparison.notes},
          {"cases", comparison_cases(comparison)}};
}

// --- history ---------------------------------------------------------------------------------------------------------

Json runs_json(const HistoryGroup& group) {
  Columns rows;
  for (const HistoryRun& run : group.runs) {
    rows.row();
    rows.set("id", run.id);
    rows.set("started_utc", run.started_utc);
    rows.set("host", run.host);
    rows.set("device", run.device);
    rows.set("sha", run.git_sha);
    rows.set("branch", run.git_branch);
    rows.set("dirty", run.git_dirty);
    rows.set("complete", run.complete);
    rows.set("total", run.counts.total);
    rows.set("passed", run.counts.of(Verdict::passed));
    std::int64_t wrong = run.counts.of(Verdict::unexpected_pass);
    for (const Verdict verdict : kVerdicts) wrong += is_wrong(verdict) ? run.counts.of(verdict) : 0;
    rows.set("wrong", wrong);
  }
  return rows.take();
}

/// Points of all cases, one case after the other, in arrays that JavaScript reads without parsing a number: medians as
/// little-endian floats, half widths of the intervals in parts of 1,000 of the median (255 and more: 255), verdicts as
/// their numbers in kVerdicts (255: the run does not hold the case).
struct PointArrays {
  std::vector<unsigned char> medians;
  std::vector<unsigned char> half_widths;
  std::vector<unsigned char> verdicts;

  void add(const HistoryPoint& point) {
    const auto bits = std::bit_cast<std::uint32_t>(point.median_ns);
    for (unsigned shift = 0; shift < 32; shift += 8) medians.push_back(static_cast<unsigned char>(bits >> shift));
    const float width = point.ci95_high_ns - point.ci95_low_ns;
    const float share = point.median_ns > 0 ? 500 * width / point.median_ns : 0;
    half_widths.push_back(static_cast<unsigned char>(std::lround(std::min(share, 255.0F))));
    verdicts.push_back(point.verdict ? static_cast<unsigned char>(*point.verdict) : 255);
  }
};

Json trend_cases(const HistoryGroup& group) {
  Columns rows;
  for (const HistoryCase& entry : group.cases) {
    rows.row();
    rows.set("problem", entry.problem);
    rows.set("provider", entry.provider);
    if (entry.name != entry.problem) rows.set("name", entry.name);
    Json steps = Json::array();
    for (const Step& step : entry.trend.steps) steps.push_back({step.run, rounded(step.ratio), or_null(step.accepted)});
    rows.set("steps", std::move(steps));
    Json levels = Json::array();
    for (const double level : entry.trend.levels_ns) levels.push_back(rounded(level));
    rows.set("levels", std::move(levels));
    if (entry.trend.unconfirmed) rows.set("unconfirmed", rounded(*entry.trend.unconfirmed));
  }
  return rows.take();
}

Json group_json(const HistoryGroup& group) {
  PointArrays points;
  for (const HistoryCase& entry : group.cases) {
    for (const HistoryPoint& point : entry.points) points.add(point);
  }
  return {{"fingerprint", group.fingerprint},     {"runs", runs_json(group)},
          {"cases", trend_cases(group)},          {"medians", base64(points.medians)},
          {"widths", base64(points.half_widths)}, {"verdicts", base64(points.verdicts)}};
}

Json history_json(const History& history) {
  Json groups = Json::array();
  for (const HistoryGroup& group : history.groups) groups.push_back(group_json(group));
  return {{"groups", std::move(groups)}, {"skipped", history.skipped}};
}

}  // namespace

Json page_data(const Report& report, const DashboardParts& parts) {
  Json verdicts = Json::array();
  for (const Verdict verdict : kVerdicts) verdicts.push_back(std::string(name_of(verdict)));
  return {{"charts", std::string(dashboard_charts())},
          {"view", std::string(parts.view)},
          {"verdicts", std::move(verdicts)},
          {"report", report_json(report)},
          {"comparison", parts.comparison != nullptr ? comparison_json_of(*parts.comparison) : Json(nullptr)},
          {"history", parts.history != nullptr ? history_json(*parts.history) : Json(nullptr)}};
}

}  // namespace mla::reports
