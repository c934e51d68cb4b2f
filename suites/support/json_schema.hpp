// JSON schema files as judges of documents.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace mla::test {

class JsonSchema {
 public:
  /// Throws where `file` is no schema.
  explicit JsonSchema(const std::filesystem::path& file);
  ~JsonSchema();

  /// What is wrong with `document`, a line each with its place; empty where nothing is.
  [[nodiscard]] std::string objections(const nlohmann::json& document) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace mla::test
