#include "reports/margins.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/error.hpp"
#include "reports/pattern.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace {

using detail::Field;

void check_schema(const Field& schema) {
  schema.only({"name", "version"});
  if (schema.at("name").text() != kMarginsSchema) schema.at("name").refuse(fmt::format("must be '{}'", kMarginsSchema));
  if (!schema.at("version").text().starts_with("1.")) schema.at("version").refuse("must be 1.x.y");
}

MarginRule read_rule(const Field& rule) {
  rule.only({"case", "margin", "why"});
  return {rule.at("case").nonempty(), rule.at("margin").above_zero(), rule.at("why").nonempty()};
}

Floors read_floors(const Field& field) {
  field.only({"fingerprint", "comparisons", "cases"});
  Floors floors;
  floors.fingerprint = field.at("fingerprint").nonempty();
  floors.comparisons = field.at("comparisons").integer(1);
  field.at("cases").array().each([&](const Field& entry) {
    entry.only({"case", "changes"});
    std::vector<double>& list = floors.changes[entry.at("case").nonempty()];
    entry.at("changes").array(1).each([&](const Field& change) { list.push_back(change.at_least_zero()); });
  });
  return floors;
}

Margins parse(const Json& document) {
  const Field root(document);
  root.only({"schema", "margins", "canaries", "floors"});
  check_schema(root.at("schema"));
  Margins margins;
  if (const auto rules = root.find("margins")) {
    rules->array().each([&](const Field& rule) { margins.rules.push_back(read_rule(rule)); });
  }
  if (const auto canaries = root.find("canaries")) {
    canaries->array().each([&](const Field& pattern) { margins.canaries.push_back(pattern.nonempty()); });
  }
  if (const auto floors = root.find("floors")) margins.floors = read_floors(*floors);
  return margins;
}

}  // namespace

double Floors::of(const std::string& key) const {
  const auto found = changes.find(key);
  if (found == changes.end()) return 0;
  std::vector<double> sorted = found->second;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(sorted.size())));
  return sorted[rank - 1];
}

double Margins::of(const std::string& key, double usual, std::string_view fingerprint) const {
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const MarginRule& one) { return matches(one.cases, key); });
  const double margin = rule == rules.end() ? usual : rule->margin;
  if (floors.fingerprint != fingerprint) return margin;
  return std::max(margin, std::expm1(kFloorFactor * floors.of(key)));
}

Margins load_margins(const std::filesystem::path& path) {
  try {
    const Json document = detail::parse_strict(detail::read_file(path));
    return parse(document);
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Json margins_json(const Margins& margins) {
  Json json;
  json["schema"] = {{"name", std::string(kMarginsSchema)}, {"version", std::string(kMarginsVersion)}};
  json["margins"] = Json::array();
  for (const MarginRule& rule : margins.rules) {
    json["margins"].push_back({{"case", rule.cases}, {"margin", rule.margin}, {"why", rule.why}});
  }
  json["canaries"] = margins.canaries;
  json["floors"] = nullptr;
  if (margins.floors.comparisons > 0) {
    // A list, since an object may not have as many members as a run has cases.
    Json cases = Json::array();
    for (const auto& [key, list] : margins.floors.changes) cases.push_back({{"case", key}, {"changes", list}});
    json["floors"] = {{"fingerprint", margins.floors.fingerprint},
                      {"comparisons", margins.floors.comparisons},
                      {"cases", std::move(cases)}};
  }
  return json;
}

}  // namespace mla::reports
