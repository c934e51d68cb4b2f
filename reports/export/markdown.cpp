#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reports/detail/markdown.hpp"
#include "reports/detail/sections.hpp"
#include "reports/detail/text.hpp"
#include "reports/export/formats.hpp"
#include "reports/statistics/median.hpp"

namespace mla::reports {
namespace {

using detail::escape_markdown;

std::vector<const Case*> not_right(const Report& report) {
  std::vector<const Case*> cases;
  for (const Case& entry : report.cases) {
    if (is_wrong(entry.verdict) || entry.verdict == Verdict::unexpected_pass) cases.push_back(&entry);
  }
  return cases;
}

std::string verdict_line(const Report& report, std::size_t wrong) {
  if (wrong > 0) return fmt::format("{} of {} not right", wrong, detail::plural(report.cases.size(), "case"));
  if (report.counts.of(Verdict::passed) == 0) return "no case passed";
  return report.run.complete ? "all right" : "all right so far; the run was interrupted";
}

std::string wrong_table(const std::vector<const Case*>& wrong, std::size_t max_rows) {
  if (wrong.empty()) return {};
  std::string text = "| case | verdict | reason | repeat with |\n|---|---|---|---|\n";
  const std::size_t rows = std::min(wrong.size(), max_rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const Case& entry = *wrong[i];
    const std::string reason = entry.reason ? fmt::format("{}: {}", entry.reason->kind, entry.reason->message) : "";
    text += fmt::format(
        "| {} | {} | {} | {} |\n", escape_markdown(fmt::format("{} @{}", entry.short_name(), entry.provider)),
        escape_markdown(name_of(entry.verdict)), escape_markdown(reason), detail::code_span(entry.repro));
  }
  if (rows < wrong.size()) text += fmt::format("\n... and {} more.\n", wrong.size() - rows);
  return text + '\n';
}

/// One line a provider: how much of the machine it used.
std::string speeds(const Report& report) {
  struct Speed {
    std::size_t measured = 0;
    std::vector<double> percents;
  };
  std::map<std::string, Speed> speeds;
  for (const Case& entry : report.cases) {
    if (!entry.performance) continue;
    Speed& speed = speeds[entry.provider];
    ++speed.measured;
    if (entry.performance->ceiling) speed.percents.push_back(entry.performance->ceiling->percent);
  }
  std::string text;
  for (const auto& [provider, speed] : speeds) {
    text += fmt::format("- {}: {} measured", escape_markdown(provider), detail::plural(speed.measured, "case"));
    if (!speed.percents.empty()) {
      const double best = *std::max_element(speed.percents.begin(), speed.percents.end());
      text += fmt::format(", median {:.0f} % of the nearer ceiling, best {:.0f} %", statistics::median(speed.percents),
                          best);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string report_markdown(const Report& report, const MarkdownOptions& options) {
  const std::vector<const Case*> wrong = not_right(report);
  std::string text = fmt::format("### MLA harness: {}\n\n{}: {}.", verdict_line(report, wrong.size()),
                                 detail::plural(report.cases.size(), "case"), escape_markdown(text_of(report.counts)));
  if (!options.link.empty()) text += " " + detail::link_text("Dashboard", options.link);
  text += "\n\n" + wrong_table(wrong, options.max_rows) + speeds(report);
  for (const std::string& warning : report.warnings) text += fmt::format("- {}\n", escape_markdown(warning));
  const Environment& machine = report.environment;
  text += fmt::format("- {}; {}\n", escape_markdown(detail::run_line("run", report.run)),
                      escape_markdown(machine.gpu_name.empty() ? machine.cpu_model : machine.gpu_name));
  return text;
}

}  // namespace mla::reports
