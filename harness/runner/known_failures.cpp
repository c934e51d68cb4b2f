#include "harness/runner/known_failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "harness/core/error.hpp"
#include "harness/problem/problem.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/strict_json.hpp"
#include "harness/suite/suite.hpp"

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchemaName = "mla-harness-known-failures";

void require_schema(const JsonNode& schema) {
  schema.require_keys({"name", "version"});
  if (schema.at("name").text() != kSchemaName) schema.at("name").fail(fmt::format("'{}' is needed", kSchemaName));
  if (!schema.at("version").text().starts_with("1.0.")) {
    schema.at("version").fail("this program reads version 1.0.x");
  }
}

std::string read_date(const JsonNode& node) {
  constexpr std::string_view kPattern = "dddd-dd-dd";
  const std::string text = node.text();
  bool good = text.size() == kPattern.size();
  for (std::size_t i = 0; good && i < kPattern.size(); ++i) {
    good = kPattern[i] == 'd' ? std::isdigit(static_cast<unsigned char>(text[i])) != 0 : text[i] == kPattern[i];
  }
  if (!good || text.substr(5, 2) > "12" || text.substr(8) > "31") node.fail("a date YYYY-MM-DD is needed");
  return text;
}

// The fields that a word names, each in its canonical form. Problem::parse has already refused a malformed word.
std::vector<KnownFailure::NamedField> named_fields(std::string_view word) {
  std::vector<KnownFailure::NamedField> named;
  const std::size_t colon = word.find(':');
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t equals = item.find('=');
    for (const DecodeField& field : decode_fields()) {
      if (field.name != item.substr(0, equals)) continue;
      DecodeProblem::Fields fields;
      field.parse(fields, item.substr(equals + 1));
      named.push_back({&field, field.print(fields)});
    }
  }
  return named;
}

std::string optional_text(const JsonNode& node, std::string_view key) {
  const auto member = node.find(key);
  return member ? member->text() : std::string();
}

std::string required_text(const JsonNode& node, std::string_view key) {
  std::string text = node.at(key).text();
  if (text.empty()) node.at(key).fail("it must not be empty");
  return text;
}

KnownFailure read_entry(const JsonNode& node) {
  node.require_keys({"problem", "provider", "target", "kind", "reason", "source", "expires"});
  KnownFailure entry;
  entry.problem = required_text(node, "problem");
  entry.provider = optional_text(node, "provider");
  entry.target = optional_text(node, "target");
  entry.kind = optional_text(node, "kind");
  entry.reason = required_text(node, "reason");
  entry.source = required_text(node, "source");
  entry.expires = read_date(node.at("expires"));
  try {
    (void)Problem::parse(entry.problem);
    entry.fields = named_fields(entry.problem);
  } catch (const UsageError& error) {
    node.at("problem").fail(error.what());
  }
  return entry;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool matches_target(const std::string& target, const KnownFailureQuery& query) {
  if (target.empty() || target == query.device) return true;
  const std::string wanted = lower(target);
  return lower(query.variant).find(wanted) != std::string::npos || lower(query.gpu).find(wanted) != std::string::npos;
}

bool matches(const KnownFailure& entry, const KnownFailureQuery& query) {
  if (!entry.provider.empty() && entry.provider != query.provider) return false;
  if (!matches_target(entry.target, query)) return false;
  return std::all_of(entry.fields.begin(), entry.fields.end(), [&](const KnownFailure::NamedField& named) {
    return named.field->print(query.problem.fields()) == named.text;
  });
}

bool is_wrong(std::string_view verdict) {
  return verdict == "failed" || verdict == "crashed" || verdict == "timeout" || verdict == "mistrusted";
}

void extend_message(Json& record, const std::string& text) {
  record["reason"]["message"] = record.at("reason").at("message").get<std::string>() + text;
}

}  // namespace

KnownFailures KnownFailures::load(const std::filesystem::path& path, std::string today) {
  const nlohmann::json document = read_strict_json(path);
  const JsonNode root(document, path.string());
  root.require_keys({"$schema", "schema", "known"});
  require_schema(root.at("schema"));
  KnownFailures list;
  list.today_ = std::move(today);
  const JsonNode known = root.at("known");
  if (known.value().is_array() && known.value().empty()) return list;
  for (const JsonNode& node : known.items()) list.entries_.push_back(read_entry(node));
  return list;
}

std::filesystem::path KnownFailures::default_file() {
  return suites_directory() / "data" / "known-failures.json";
}

std::vector<const KnownFailure*> KnownFailures::expired() const {
  std::vector<const KnownFailure*> list;
  for (const KnownFailure& entry : entries_) {
    if (!holds(entry)) list.push_back(&entry);
  }
  return list;
}

const KnownFailure* KnownFailures::find(const KnownFailureQuery& query) const {
  const KnownFailure* outdated = nullptr;
  for (const KnownFailure& entry : entries_) {
    if (!matches(entry, query)) continue;
    if (holds(entry)) return &entry;
    if (outdated == nullptr) outdated = &entry;
  }
  return outdated;
}

void KnownFailures::apply(const KnownFailureQuery& query, Json& record) const {
  const KnownFailure* const entry = find(query);
  if (entry == nullptr) return;
  const auto verdict = record.at("verdict").get<std::string>();
  const bool wrong = is_wrong(verdict);
  if (!wrong && verdict != "passed") return;
  const bool other_kind = wrong && !entry->kind.empty() && record.at("reason").at("kind") != entry->kind;
  if (other_kind) return;
  record["known_failure"] = {{"reason", entry->reason},
                             {"source", entry->source},
                             {"expires", entry->expires},
                             {"expired", !holds(*entry)},
                             {"verdict", verdict}};
  if (!holds(*entry)) {
    if (wrong) extend_message(record, fmt::format(" (a known failure until {}: {})", entry->expires, entry->source));
  } else if (wrong) {
    record["verdict"] = "known_failure";
    extend_message(record, fmt::format(" (known: {}, {})", entry->reason, entry->source));
  } else {
    record["verdict"] = "unexpected_pass";
    record["reason"] = {{"kind", "unexpected_pass"},
                        {"message", fmt::format("passes, and the list of known failures says it does not ({}, {}): "
                                                "remove the entry",
                                                entry->reason, entry->source)}};
    // The verdict says that something is off; a speed would say that all is well.
    record.erase("performance");
  }
}

}  // namespace mla::harness
