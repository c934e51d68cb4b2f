#include "reports/pair/pair_json.hpp"

#include <string_view>
#include <unordered_map>

#include "reports/version.hpp"

namespace mla::reports {
namespace {

Json half_json(const PairLaunch& launch) {
  return {{"median_ns", launch.median_ns()}, {"samples_ns", launch.times.samples_ns}, {"clocks", launch.times.clocks}};
}

Json pair_json(const PairTimes& pair) {
  return {{"stage", std::string(name_of(pair.stage))},
          {"order", pair.base_first ? "AB" : "BA"},
          {"base", half_json(*pair.base)},
          {"new", half_json(*pair.next)}};
}

Json case_json(const PairedCase& paired, const PairEvidence* evidence) {
  Json json = {{"key", paired.key}};
  json["decided_by"] = evidence == nullptr ? Json() : Json(std::string(name_of(evidence->stage)));
  json["p_slower"] = evidence == nullptr ? Json() : Json(evidence->p_slower);
  json["p_faster"] = evidence == nullptr ? Json() : Json(evidence->p_faster);
  json["timer"] = paired.pairs.empty() ? Json() : Json(paired.pairs.front().base->times.timer);
  json["cache"] = paired.pairs.empty() ? Json() : Json(paired.pairs.front().base->times.cache);
  json["pairs"] = Json::array();
  for (const PairTimes& pair : paired.pairs) json["pairs"].push_back(pair_json(pair));
  return json;
}

}  // namespace

Json pair_json(const PairJudgement& judgement, std::span<const PairedCase> cases, const PairRun& run) {
  std::unordered_map<std::string_view, const PairEvidence*> evidence;
  for (const PairEvidence& entry : judgement.evidence) evidence.emplace(entry.key, &entry);
  Json json;
  json["schema"] = {{"name", std::string(kPairSchema)}, {"version", std::string(kPairVersion)}};
  json["exit_code"] = run.complete ? static_cast<int>(judgement.comparison.exit()) : 130;
  json["status"] = run.complete ? "complete" : "interrupted";
  json["started_utc"] = run.started_utc;
  json["ended_utc"] = run.ended_utc;
  json["argv"] = run.argv;
  json["design"] = run.design;
  json["comparison"] = comparison_json(judgement.comparison);
  json["cases"] = Json::array();
  for (const PairedCase& paired : cases) {
    const auto at = evidence.find(paired.key);
    json["cases"].push_back(case_json(paired, at == evidence.end() ? nullptr : at->second));
  }
  return json;
}

}  // namespace mla::reports
