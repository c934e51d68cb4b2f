// What a person reads at the end of a run.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace mla::reports {

struct SummaryStyle {
  int columns = 100;  // width of the terminal; the table keeps within it down to 60
  bool colour = false;
};

/// One line a problem and provider, then every case that is not right with its reason and the command that repeats it,
/// then the counts, then where the time went. ASCII only.
[[nodiscard]] std::string summary_text(const Report& report, const SummaryStyle& style = {});

}  // namespace mla::reports
