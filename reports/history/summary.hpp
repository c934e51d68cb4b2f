// A history for a terminal.
#pragma once

#include <string>

#include "reports/history/history.hpp"
#include "reports/summary.hpp"

namespace mla::reports {

/// Runs of each machine, the newest lasting changes, and what the last run alone shows. ASCII only.
[[nodiscard]] std::string history_text(const History& history, const SummaryStyle& style = {});

}  // namespace mla::reports
