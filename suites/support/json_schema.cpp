#include "suites/support/json_schema.hpp"

#include <fstream>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace mla::test {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

struct JsonSchema::Parsed {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const std::filesystem::path& file) : parsed_(std::make_unique<Parsed>()) {
  std::ifstream stream(file);
  const auto text = nlohmann::json::parse(stream);
  valijson::SchemaParser().populateSchema(Adapter(text), parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

std::string JsonSchema::objections(const nlohmann::json& document) const {
  valijson::ValidationResults results;
  if (valijson::Validator().validate(parsed_->schema, Adapter(document), &results)) return {};
  valijson::ValidationResults::Error error;
  std::string lines;
  while (results.popError(error)) {
    for (const std::string& step : error.context) lines += step;
    lines += ": " + error.description + "\n";
  }
  return lines.empty() ? "refused\n" : lines;
}

}  // namespace mla::test
