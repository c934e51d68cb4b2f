#include "harness/checks/to_json.hpp"

#include <cmath>

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
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
          {"slope", spread.slope ? finite_or_null(*spread.slope) : Json(nullptr)},
          {"slope_limit", spread.slope_limit ? finite_or_null(*spread.slope_limit) : Json(nullptr)}};
}

}  // namespace

Json correctness_json(const DecodeCheck& check, const Precision& precision) {
  Json tiers = Json::object();
  for (const TierResult& tier : check.tiers) {
    tiers[tier.name] = {{"verdict", name_of(tier.verdict)}, {"max_ratio", finite_or_null(tier.max_ratio)}};
  }
  if (tiers.contains("stat")) tiers["stat"].update(spread_json(check.spread));
  Json worst = Json::array();
  for (const WorstElement& element : check.worst) worst.push_back(worst_json(element));
  return {{"reference", "eigen_f64"},
          {"precision",
           {{"probabilities", name_of(precision.probabilities)},
            {"row_sum_of_rounded", precision.row_sum_of_rounded},
            {"partial_output", name_of(precision.partial_output)}}},
          {"elements", check.elements},
          {"rows", check.rows},
          {"tiers", tiers},
          {"nonfinite", {{"got", check.nonfinite_got}, {"ref", check.nonfinite_ref}}},
          {"abs_max", finite_or_null(check.abs_max)},
          {"rel_l2", finite_or_null(check.rel_l2)},
          {"worst", worst}};
}

Json safety_json(const DecodeCheck& check) {
  return {{"canary", check.canary}, {"poison_left", check.poison_left}};
}

}  // namespace mla::harness
