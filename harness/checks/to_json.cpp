#include "harness/checks/to_json.hpp"

#include <cmath>
#include <optional>
#include <string>

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json number_or_null(const std::optional<double>& value) {
  return value ? finite_or_null(*value) : Json(nullptr);
}

Json value_or_name(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json index_json(const WorstElement& element) {
  Json index = {{"token", element.token}, {"request", element.request}, {"head", element.head}};
  if (element.dim) index["dim"] = *element.dim;
  return index;
}

Json worst_json(const WorstElement& element) {
  return {{"tier", element.tier},
          {"index", index_json(element)},
          {"got", element.got ? value_or_name(*element.got) : Json(nullptr)},
          {"ref", value_or_name(element.ref)},
          {"ratio", finite_or_null(element.ratio)}};
}

Json spread_json(const SpreadResult& spread) {
  return {{"rms", finite_or_null(spread.rms)},
          {"row_rms_max", finite_or_null(spread.row_rms)},
          {"z_max", finite_or_null(spread.z_max)},
          {"slope", number_or_null(spread.slope)},
          {"slope_error", number_or_null(spread.slope_error)},
          {"slope_limit", number_or_null(spread.slope_limit)}};
}

Json tiers_json(const DecodeCheck& check) {
  Json tiers = Json::object();
  for (const TierResult& tier : check.tiers) {
    tiers[tier.name] = {{"verdict", name_of(tier.verdict)}, {"max_ratio", finite_or_null(tier.max_ratio)}};
  }
  if (tiers.contains("stat")) tiers["stat"].update(spread_json(check.spread));
  return tiers;
}

}  // namespace

Json correctness_json(const DecodeCheck& check, const Precision& precision) {
  Json worst = Json::array();
  for (const WorstElement& element : check.worst) worst.push_back(worst_json(element));
  Json declared = {{"probabilities", name_of(precision.probabilities)},
                   {"row_sum_of_rounded", precision.row_sum_of_rounded},
                   {"partial_output", name_of(precision.partial_output)}};
  if (precision.probability_floor > 0) declared["probability_floor"] = precision.probability_floor;
  return {{"reference", "eigen_f64"},
          {"precision", declared},
          {"elements", check.elements},
          {"rows", check.rows},
          {"tiers", tiers_json(check)},
          {"nonfinite", {{"got", check.nonfinite_got}, {"ref", check.nonfinite_ref}}},
          {"abs_max", finite_or_null(check.abs_max)},
          {"rel_l2", finite_or_null(check.rel_l2)},
          {"worst", worst}};
}

Json distribution_json(const DecodeCheck& check) {
  return {{"tiers", tiers_json(check)},
          {"abs_max", finite_or_null(check.abs_max)},
          {"rel_l2", finite_or_null(check.rel_l2)}};
}

Json probes_json(const ProbeCheck& probes) {
  Json json = Json::object();
  for (const ProbeResult& result : probes.results()) {
    json[std::string(name_of(result.probe))] = {{"verdict", name_of(result.verdict)},
                                                {"max_ratio", finite_or_null(result.max_ratio)}};
  }
  return json;
}

Json detectability_json(const Detectability& detectability) {
  Json json = Json::object();
  for (int i = 0; i < kSmallFaults; ++i) {
    const auto fault = static_cast<SmallFault>(i);
    const Signal& signal = detectability.of(fault);
    json[std::string(name_of(fault))] = {{"hard", number_or_null(signal.hard)},
                                         {"stat", number_or_null(signal.stat)},
                                         {"lse", number_or_null(signal.lse)},
                                         {"probes", number_or_null(signal.probes)}};
  }
  return json;
}

Json safety_json(const DecodeCheck& check) {
  return {{"canary", check.canary}, {"poison_left", check.poison_left}};
}

}  // namespace mla::harness
