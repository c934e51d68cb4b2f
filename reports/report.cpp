#include "reports/report.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mla::reports {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "passed";
    case Verdict::failed: return "failed";
    case Verdict::mistrusted: return "mistrusted";
    case Verdict::skipped: return "skipped";
    case Verdict::unimplemented: return "unimplemented";
    case Verdict::crashed: return "crashed";
    case Verdict::timeout: return "timeout";
    case Verdict::known_failure: return "known_failure";
    case Verdict::unexpected_pass: return "unexpected_pass";
  }
  return "unknown";
}

std::optional<Verdict> verdict_from(std::string_view name) {
  const auto* found =
      std::find_if(kVerdicts.begin(), kVerdicts.end(), [&](Verdict verdict) { return name_of(verdict) == name; });
  return found == kVerdicts.end() ? std::nullopt : std::optional(*found);
}

bool is_wrong(Verdict verdict) {
  return verdict == Verdict::failed || verdict == Verdict::crashed || verdict == Verdict::timeout ||
         verdict == Verdict::mistrusted;
}

bool is_unchecked(Verdict verdict) {
  return verdict == Verdict::skipped || verdict == Verdict::unimplemented;
}

const std::string& Case::short_name() const {
  for (const SuiteName& suite : suites) {
    if (!suite.name.empty()) return suite.name;
  }
  return problem;
}

std::optional<double> Case::worst_ratio() const {
  const auto correctness = json.find("correctness");
  if (correctness == json.end() || !correctness->is_object()) return std::nullopt;
  std::optional<double> worst;
  const auto add = [&worst](const Json& tiers) {
    for (const auto& [name, tier] : tiers.items()) {
      const auto ratio = tier.find("max_ratio");
      if (ratio != tier.end() && ratio->is_number()) worst = std::max(worst.value_or(0), ratio->get<double>());
    }
  };
  add(correctness->at("tiers"));
  if (const auto others = correctness->find("distributions"); others != correctness->end() && others->is_object()) {
    for (const auto& [name, distribution] : others->items()) add(distribution.at("tiers"));
  }
  return worst;
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (const Verdict verdict : kVerdicts) {
    if (counts.of(verdict) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(verdict), counts.of(verdict));
  }
  return text.empty() ? "no cases" : text;
}

}  // namespace mla::reports
