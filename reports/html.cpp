#include "reports/html.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "reports/detail/page.hpp"
#include "reports/detail/text.hpp"
#include "reports/write.hpp"

namespace mla::reports {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

/// JSON inside a script element: nothing in it may end the element or open a comment, and inside JSON '<' occurs in
/// strings only, where it may be written as an escape.
std::string script_data(const Json& json) {
  std::string result;
  for (const char c : dump_strict(json)) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

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
    tiers.push_back({{"name", name}, {"verdict", tier.at("verdict")}, {"max_ratio", tier.value("max_ratio", Json())}});
  }
  return tiers;
}

void add_performance(const std::optional<Performance>& performance, Json& row) {
  for (const char* name : {"median_ns", "ci95_ns", "tb_per_s", "tflop_per_s", "percent", "bound", "launches", "samples",
                           "min_ns", "max_ns", "timer", "cache"}) {
    row[name] = nullptr;
  }
  row["stages"] = Json::array();
  if (!performance) return;
  row["median_ns"] = performance->median_ns;
  row["ci95_ns"] = {performance->ci95_low_ns, performance->ci95_high_ns};
  row["tb_per_s"] = performance->tb_per_s;
  row["tflop_per_s"] = performance->tflop_per_s;
  if (performance->ceiling) {
    row["percent"] = performance->ceiling->percent;
    row["bound"] = performance->ceiling->bound;
  }
  std::size_t samples = 0;
  double least = performance->launch_samples_ns.front().front();
  double most = least;
  for (const auto& launch : performance->launch_samples_ns) {
    samples += launch.size();
    for (const double ns : launch) {
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
  }
  row["launches"] = performance->launch_samples_ns.size();
  row["samples"] = samples;
  row["min_ns"] = least;
  row["max_ns"] = most;
  row["timer"] = performance->timer;
  row["cache"] = performance->cache;
  for (const StageTime& stage : performance->stages)
    row["stages"].push_back({{"stage", stage.stage}, {"ns", stage.ns}});
}

Json row_json(const Case& entry, const ProviderRatio* ratio) {
  Json row = {{"key", entry.key},
              {"repro", entry.repro},
              {"problem", entry.problem},
              {"name", entry.short_name()},
              {"provider", entry.provider},
              {"verdict", std::string(name_of(entry.verdict))},
              {"input_digest", entry.input_digest},
              {"axes", entry.json.at("axes")}};
  row["reason"] =
      entry.reason ? Json({{"kind", entry.reason->kind}, {"message", entry.reason->message}}) : Json(nullptr);
  row["suites"] = Json::array();
  for (const SuiteName& suite : entry.suites) {
    row["suites"].push_back(suite.name.empty() ? suite.suite : suite.suite + "/" + suite.name);
  }
  row["kernel"] = entry.kernel
                      ? fmt::format("{} {} {}", entry.kernel->name, entry.kernel->variant, entry.kernel->digest)
                      : std::string();
  row["worst_ratio"] = or_null(entry.worst_ratio());
  row["tiers"] = tiers_json(entry.json);
  row["safety"] = safety_text(entry.json);
  add_performance(entry.performance, row);
  row["speedup"] = nullptr;
  if (ratio != nullptr) row["speedup"] = {{"value", ratio->speedup}, {"baseline", ratio->baseline}};
  return row;
}

Json page_data(const Report& report) {
  Json data = report.header;
  // A 64-bit seed does not survive JavaScript's numbers.
  data["seed"] = std::to_string(report.run.seed);
  data["elapsed_s"] = report.elapsed_s;
  data["warnings"] = report.warnings;
  data["counts"] = Json::object();
  for (const Verdict verdict : kVerdicts) data["counts"][std::string(name_of(verdict))] = report.counts.of(verdict);
  std::map<std::string, const ProviderRatio*> ratios;
  for (const ProviderRatio& ratio : report.provider_ratios) ratios[ratio.problem + " @" + ratio.provider] = &ratio;
  data["cases"] = Json::array();
  for (const Case& entry : report.cases) {
    const auto ratio = ratios.find(entry.key);
    data["cases"].push_back(row_json(entry, ratio == ratios.end() ? nullptr : ratio->second));
  }
  return data;
}

}  // namespace

std::string report_html(const Report& report) {
  const std::string title = fmt::format("MLA harness {}", report.run.id);
  const std::map<std::string_view, std::string> fields = {
      {"PAGE_TITLE", escaped(title)},
      {"PAGE_COUNTS", escaped(text_of(report.counts))},
      {"PAGE_CSS", std::string(detail::kPageCss)},
      {"PAGE_JS", std::string(detail::kPageJs)},
      {"PAGE_DATA", script_data(page_data(report))},
  };
  // One pass over the template: a field's text, which may come from a report, is never searched for fields itself.
  std::string html;
  std::string_view rest = detail::kPageHtml;
  for (std::size_t open = 0; (open = rest.find('@')) != std::string_view::npos;) {
    const std::size_t close = rest.find('@', open + 1);
    html += rest.substr(0, open);
    html += fields.at(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
  html += rest;
  return html;
}

}  // namespace mla::reports
