// The parts of a report that the runner itself knows: its header, and what identifies a case.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "harness/runner/case_list.hpp"
#include "harness/runner/environment.hpp"
#include "harness/runner/run.hpp"
#include "harness/timing/ceilings.hpp"

namespace mla::harness {

/// `schema`, `run`, `environment` and `ceilings` of a report.
[[nodiscard]] nlohmann::ordered_json report_header(const RunOptions& options, const Environment& environment,
                                                   std::span<const Ceiling> ceilings);

/// Key, repro command, suites and axes of a case; verdict and results are added by what ran it.
[[nodiscard]] nlohmann::ordered_json case_identity(const PlannedProblem& plan, const Provider& provider, RunMode mode);

/// The command that repeats a case.
[[nodiscard]] std::string repro_command(const std::string& word, const Provider& provider, RunMode mode);

/// "2026-12-01T01:02:03Z".
[[nodiscard]] std::string utc_now();

}  // namespace mla::harness
