#include "reports/export/junit.hpp"

#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>

namespace mla::reports {
namespace {

/// Control characters other than tab and line breaks are not XML 1.0, not even escaped; neither are U+FFFE and U+FFFF.
std::string xml_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      result += '?';
    } else if (text.compare(i, 3, "\xEF\xBF\xBE") == 0 || text.compare(i, 3, "\xEF\xBF\xBF") == 0) {
      result += '?';
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

void set(pugi::xml_node node, const char* name, std::string_view value) {
  node.append_attribute(name) = xml_text(value).c_str();
}

std::string seconds(double ms) {
  return fmt::format("{:.6f}", ms / 1e3);
}

double elapsed_ms(const Case& entry) {
  double sum = 0;
  for (const auto& [stage, ms] : entry.elapsed_ms) sum += ms;
  return sum;
}

/// Element that says how a verdict counts; null for a plain pass.
const char* element_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return nullptr;
    case Verdict::failed:
    case Verdict::mistrusted:
    case Verdict::unexpected_pass: return "failure";
    case Verdict::crashed:
    case Verdict::timeout: return "error";
    case Verdict::skipped:
    case Verdict::unimplemented:
    case Verdict::known_failure: return "skipped";
  }
  return "error";
}

std::string message_of(const Case& entry) {
  if (entry.reason) return fmt::format("{}: {}", entry.reason->kind, entry.reason->message);
  return entry.verdict == Verdict::unexpected_pass ? "passed although the suite says that it fails"
                                                   : std::string(name_of(entry.verdict));
}

struct SuiteNode {
  pugi::xml_node node;
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double ms = 0;

  void count(std::string_view element) {
    ++tests;
    failures += element == "failure" ? 1 : 0;
    errors += element == "error" ? 1 : 0;
    skipped += element == "skipped" ? 1 : 0;
  }

  void finish(pugi::xml_node target) const {
    target.append_attribute("tests") = tests;
    target.append_attribute("failures") = failures;
    target.append_attribute("errors") = errors;
    target.append_attribute("skipped") = skipped;
    target.append_attribute("time") = seconds(ms).c_str();
  }
};

void add_case(pugi::xml_node suite, const std::string& suite_name, const Case& entry) {
  pugi::xml_node node = suite.append_child("testcase");
  set(node, "classname", fmt::format("{}.{}", suite_name, entry.provider));
  // The short name may stand for several problems; the key never does.
  set(node, "name", entry.key);
  node.append_attribute("time") = seconds(elapsed_ms(entry)).c_str();
  const char* element = element_of(entry.verdict);
  if (element == nullptr) return;
  pugi::xml_node outcome = node.append_child(element);
  set(outcome, "message", message_of(entry));
  if (std::string_view(element) == "skipped") return;
  set(outcome, "type", name_of(entry.verdict));
  outcome.text() = xml_text(fmt::format("{}\n{}\n", message_of(entry), entry.repro)).c_str();
}

}  // namespace

std::string junit_xml(const Report& report) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "mla-harness";

  SuiteNode total;
  std::map<std::string, SuiteNode> suites;
  for (const Case& entry : report.cases) {
    const std::string name = entry.suites.empty() ? "problems" : entry.suites.front().suite;
    SuiteNode& suite = suites[name];
    if (!suite.node) {
      suite.node = root.append_child("testsuite");
      set(suite.node, "name", name);
      set(suite.node, "timestamp", report.run.started_utc);
      set(suite.node, "hostname", report.environment.host);
    }
    add_case(suite.node, name, entry);
    const char* element = element_of(entry.verdict);
    for (SuiteNode* counted : {&suite, &total}) {
      counted->count(element == nullptr ? "" : element);
      counted->ms += elapsed_ms(entry);
    }
  }
  for (const auto& [name, suite] : suites) suite.finish(suite.node);
  total.finish(root);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace mla::reports
