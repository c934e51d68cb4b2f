#include "harness/runner/ceiling_run.hpp"

#include <nlohmann/json.hpp>

#include "harness/providers/registry.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Ceiling& ceiling) {
  return {{"name", ceiling.name},
          {"device", ceiling.device},
          {"value", ceiling.value ? Json(*ceiling.value) : Json()},
          {"unit", ceiling.unit},
          {"note", ceiling.note}};
}

Ceiling from_json(const Json& json) {
  Ceiling ceiling{json.at("name"), json.at("device"), std::nullopt, json.at("unit"), json.at("note")};
  if (!json.at("value").is_null()) ceiling.value = json.at("value").get<double>();
  return ceiling;
}

std::string measure() {
  CeilingConfig config;
  config.bf16_matmul = bf16_matmul_probe();
  Json document = Json::array();
  for (const auto& ceilings : {measure_ceilings(config), device_ceilings()}) {
    for (const Ceiling& ceiling : ceilings) document.push_back(to_json(ceiling));
  }
  return document.dump();
}

}  // namespace

std::vector<Ceiling> measure_ceilings_in_child(const ChildLimits& limits) {
  const ChildResult child = run_in_child(measure, limits);
  if (child.end != ChildResult::End::finished) {
    return {{"memory_read", "cpu", std::nullopt, "GB/s", "the measuring process " + describe(child)}};
  }
  std::vector<Ceiling> ceilings;
  for (const Json& item : Json::parse(child.payload)) ceilings.push_back(from_json(item));
  return ceilings;
}

}  // namespace mla::harness
