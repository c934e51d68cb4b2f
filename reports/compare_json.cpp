#include "reports/compare.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace {

Json side(const std::string& name, const Run& run, const std::string& fingerprint) {
  return {{"name", name},
          {"run_id", run.id},
          {"started_utc", run.started_utc},
          {"complete", run.complete},
          {"git", {{"sha", run.git_sha}, {"branch", run.git_branch}, {"dirty", run.git_dirty}}},
          {"fingerprint", fingerprint}};
}

Json verdict_or_null(std::optional<Verdict> verdict) {
  return verdict ? Json(std::string(name_of(*verdict))) : Json(nullptr);
}

Json case_json(const CaseComparison& entry) {
  Json json = {{"key", entry.key},
               {"repro", entry.repro},
               {"problem", entry.problem},
               {"provider", entry.provider},
               {"base_verdict", verdict_or_null(entry.base)},
               {"new_verdict", verdict_or_null(entry.next)},
               {"change", std::string(name_of(entry.change))},
               {"speed", std::string(name_of(entry.speed))}};
  json["reason"] =
      entry.reason ? Json({{"kind", entry.reason->kind}, {"message", entry.reason->message}}) : Json(nullptr);
  json["ratio"] = nullptr;
  if (const auto& ratio = entry.ratio) {
    json["ratio"] = {{"estimate", ratio->estimate},
                     {"ci95", {ratio->low, ratio->high}},
                     {"margin", ratio->margin},
                     {"detectable", ratio->detectable ? Json(*ratio->detectable) : Json(nullptr)},
                     {"clock", ratio->clock ? Json(*ratio->clock) : Json(nullptr)},
                     {"base_ns", ratio->base_ns},
                     {"new_ns", ratio->next_ns},
                     {"base_launches", ratio->base_launches},
                     {"new_launches", ratio->next_launches}};
  }
  json["kernel"] = {{"changed", entry.kernel_changed}, {"base", entry.base_kernel}, {"new", entry.next_kernel}};
  json["canary"] = entry.canary;
  json["note"] = entry.note.empty() ? Json(nullptr) : Json(entry.note);
  return json;
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  const Tally& tally = comparison.tally;
  const CompareOptions& options = comparison.options;
  Json json;
  json["schema"] = {{"name", std::string(kComparisonSchema)}, {"version", std::string(kComparisonVersion)}};
  json["exit_code"] = static_cast<int>(comparison.exit());
  json["base"] = side(options.base_name, comparison.base, comparison.base_fingerprint);
  json["new"] = side(options.next_name, comparison.next, comparison.next_fingerprint);
  json["options"] = {{"margin", options.margin},
                     {"floor_ns", options.floor_ns},
                     {"allow_missing", options.allow_missing},
                     {"strict", options.strict}};
  json["counts"] = {{"matched", tally.matched},
                    {"wrong", tally.wrong},
                    {"missing", tally.missing},
                    {"invalid", tally.invalid},
                    {"regressed", tally.regressed},
                    {"inconclusive", tally.inconclusive},
                    {"unexpected_pass", tally.unexpected_pass}};
  json["canaries"] = nullptr;
  if (const auto& drift = comparison.drift) json["canaries"] = {{"cases", drift->cases}, {"ratio", drift->ratio}};
  json["notes"] = comparison.notes;
  json["cases"] = Json::array();
  for (const CaseComparison& entry : comparison.cases) json["cases"].push_back(case_json(entry));
  return json;
}

}  // namespace mla::reports
