// Steps that a person has looked at and wants: a faster machine setting undone, a check made stricter.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reports/history/history.hpp"

namespace mla::reports {

inline constexpr std::string_view kAcceptedSchema = "mla-harness-accepted-steps";
/// Read from a directory of reports where it is there; never taken for a report.
inline constexpr std::string_view kAcceptedFile = "accepted-steps.json";

struct AcceptedStep {
  std::string run;    // id of the first run at the new level, or the beginning (7 characters or more) of its commit
  std::string cases;  // key of a case; '*' stands for any text
  std::string note;
};

/// Strict JSON: {"schema": {"name": "mla-harness-accepted-steps", "version": "1.0.0"},
///               "steps": [{"run": "...", "case": "decode:*", "note": "..."}]}.
/// Throws ReportError, whose line begins with the path.
[[nodiscard]] std::vector<AcceptedStep> load_accepted(const std::filesystem::path& path);

/// Notes them on the steps that they name.
void accept(History& history, const std::vector<AcceptedStep>& accepted);

}  // namespace mla::reports
