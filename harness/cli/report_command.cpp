#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/cli/cli.hpp"
#include "harness/core/terminal.hpp"
#include "reports/html.hpp"
#include "reports/junit.hpp"
#include "reports/load.hpp"
#include "reports/summary.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

struct ReportArguments {
  std::string report;
  std::string html;
  std::string junit;
};

void render_report(const ReportArguments& arguments) {
  const reports::Report report = reports::load_report(arguments.report);
  if (!arguments.html.empty()) reports::write_file(arguments.html, reports::report_html(report));
  if (!arguments.junit.empty()) reports::write_file(arguments.junit, reports::junit_xml(report));
  if (arguments.html.empty() && arguments.junit.empty()) {
    fmt::print("{}", reports::summary_text(report, {terminal_columns(), stdout_is_terminal()}));
  }
}

}  // namespace

void add_report(CLI::App& app, CommandContext&) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "Show a report: as text, or written as a web page or JUnit XML");
  command->add_option("report", arguments->report, "Report file, or the .jsonl of an interrupted run")->required();
  command->add_option("--html", arguments->html, "Write one self-contained page");
  command->add_option("--junit", arguments->junit, "Write JUnit XML");
  command->callback([arguments] { render_report(*arguments); });
}

}  // namespace mla::harness
