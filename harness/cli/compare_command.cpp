#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/core/terminal.hpp"
#include "reports/compare.hpp"
#include "reports/dashboard/dashboard.hpp"
#include "reports/floors.hpp"
#include "reports/isa_compare.hpp"
#include "reports/isa_report.hpp"
#include "reports/load.hpp"
#include "reports/margins.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

struct CompareArguments {
  std::string base;
  std::string next;
  std::string markdown;
  std::string json;
  std::string html;
  std::string link;
  std::string margins;
  std::string floors_out;
  std::vector<std::string> canaries;
  double margin_percent = 2;
  reports::CompareOptions options;
};

void write_json(const std::string& path, const reports::Json& document) {
  reports::write_file(path, reports::dump_strict(document, 2) + "\n");
}

/// Adds to the file what is learnt of the cases; whatever else stands in it stays.
void keep_floors(const std::string& path, const reports::Comparison& comparison) {
  reports::Margins margins;
  if (std::filesystem::exists(path)) margins = reports::load_margins(path);
  const std::size_t cases = reports::add_floors(comparison, margins);
  write_json(path, reports::margins_json(margins));
  fmt::print("floors: {} cases added to {}, which now knows {} comparison{}\n", cases, path, margins.floors.comparisons,
             margins.floors.comparisons == 1 ? "" : "s");
}

ExitCode compare_kernels(const CompareArguments& arguments) {
  const reports::IsaComparison comparison =
      reports::compare_isa(reports::load_isa_report(arguments.base), reports::load_isa_report(arguments.next),
                           arguments.base, arguments.next);
  if (!arguments.markdown.empty()) {
    reports::write_file(arguments.markdown, reports::isa_comparison_markdown(comparison));
  }
  if (!arguments.json.empty()) write_json(arguments.json, reports::isa_comparison_json(comparison));
  fmt::print("{}", reports::isa_comparison_text(comparison, {terminal_columns(), stdout_is_terminal()}));
  return static_cast<ExitCode>(comparison.exit());
}

ExitCode compare_reports(const CompareArguments& arguments) {
  if (reports::holds_isa_report(arguments.base) || reports::holds_isa_report(arguments.next)) {
    return compare_kernels(arguments);
  }
  reports::CompareOptions options = arguments.options;
  options.margin = arguments.margin_percent / 100;
  options.base_name = arguments.base;
  options.next_name = arguments.next;
  // Reading takes the time: both at once. The page alone shows more of a case than the comparison needs.
  using reports::CaseJson;
  const CaseJson keep = arguments.html.empty() ? CaseJson::drop : CaseJson::keep;
  auto reading = std::async(std::launch::async, [&] { return reports::load_report(arguments.base, CaseJson::drop); });
  const reports::Report next = reports::load_report(arguments.next, keep);
  if (!arguments.margins.empty()) options.margins = reports::load_margins(arguments.margins);
  for (const std::string& pattern : arguments.canaries) options.margins.canaries.push_back(pattern);
  const reports::Comparison comparison = reports::compare(reading.get(), next, options);
  if (!arguments.markdown.empty()) {
    reports::write_file(arguments.markdown, reports::comparison_markdown(comparison, {.link = arguments.link}));
  }
  if (!arguments.json.empty()) write_json(arguments.json, reports::comparison_json(comparison));
  if (!arguments.html.empty()) {
    reports::write_file(arguments.html, reports::dashboard_html(next, {.comparison = &comparison, .view = "compare"}));
  }
  fmt::print("{}", reports::comparison_text(comparison, {terminal_columns(), stdout_is_terminal()}));
  if (!arguments.floors_out.empty()) keep_floors(arguments.floors_out, comparison);
  return static_cast<ExitCode>(comparison.exit());
}

}  // namespace

void add_compare(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compare two reports case by case, or two isa.json kernel by kernel; the exit code is the verdict");
  command->add_option("base", arguments->base, "Report to compare against")->required();
  command->add_option("new", arguments->next, "Report in question")->required();
  command->add_option("--markdown", arguments->markdown, "Write a summary for a pull request");
  command->add_option("--html", arguments->html, "Write the dashboard with a forest plot of all ratios");
  command->add_option("--link", arguments->link, "Address of the dashboard that the summary links to");
  command->add_option("--json", arguments->json, "Write every case's verdict");
  command
      ->add_option("--margin", arguments->margin_percent, "Change in percent below which a time counts as the same [2]")
      ->check(CLI::Range(0.0, 1000.0));
  command->add_option("--margins", arguments->margins,
                      "File of margins and floors of single cases, and of canaries (reports/schema)");
  command
      ->add_option("--canary", arguments->canaries,
                   "Key of cases whose code is the same in every build, '*' for any text: what they change by is the "
                   "machine's, and is taken off the others")
      ->expected(1);
  command->add_option("--floors-out", arguments->floors_out,
                      "The reports are two runs of one build: add what cases changed by to this file of --margins");
  command->add_flag("--allow-missing", arguments->options.allow_missing,
                    "Cases that vanished do not fail the comparison");
  command->add_flag("--strict", arguments->options.strict, "Inconclusive cases count as regressions");
  command->callback([arguments, &context] { context.result = compare_reports(*arguments); });
}

}  // namespace mla::harness
