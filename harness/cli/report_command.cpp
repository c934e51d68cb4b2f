#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/core/terminal.hpp"
#include "reports/compare.hpp"
#include "reports/dashboard/dashboard.hpp"
#include "reports/export/formats.hpp"
#include "reports/history/accepted.hpp"
#include "reports/history/history.hpp"
#include "reports/history/store.hpp"
#include "reports/history/summary.hpp"
#include "reports/load.hpp"
#include "reports/summary.hpp"
#include "reports/write.hpp"

namespace mla::harness {

namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> inputs;
  std::string html;
  std::string junit;
  std::string format;
  std::string out;
  std::string link;
  std::string accepted;
  reports::HistoryOptions history;
};

/// Reads on a terminal say how far they are: a first look at thousands of reports takes a minute.
void show_progress(std::size_t done, std::size_t total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\rreading reports: {} of {}{}", done, total, done == total ? "\n" : "");
}

std::vector<reports::AcceptedStep> accepted_steps(const ReportArguments& arguments) {
  std::vector<reports::AcceptedStep> steps;
  const auto add = [&](const fs::path& path) {
    for (reports::AcceptedStep& step : reports::load_accepted(path)) steps.push_back(std::move(step));
  };
  if (!arguments.accepted.empty()) add(arguments.accepted);
  for (const std::string& input : arguments.inputs) {
    const fs::path file = fs::path(input) / reports::kAcceptedFile;
    if (fs::is_regular_file(file)) add(file);
  }
  return steps;
}

reports::History read_history(const ReportArguments& arguments) {
  reports::HistoryBuilder builder;
  for (const std::string& input : arguments.inputs) {
    if (fs::is_directory(input)) {
      const reports::IndexWork work = reports::add_directory(builder, input, show_progress);
      if (!work.written) fmt::print(stderr, "note: {}: the index cannot be written; every report was read\n", input);
    } else {
      builder.add(input, reports::load_report(input, reports::CaseJson::drop));
    }
  }
  reports::History history = builder.build(arguments.history);
  reports::accept(history, accepted_steps(arguments));
  for (const std::string& line : history.skipped) fmt::print(stderr, "note: skipped {}\n", line);
  if (history.groups.empty()) {
    throw UsageError(fmt::format("report '{}': no report in it", fmt::join(arguments.inputs, " ")));
  }
  return history;
}

/// The newest run before the last of its group that ended and held the same mode's times: what "before" means.
std::optional<reports::Comparison> against_previous(const reports::HistoryGroup& group, const reports::Report& newest) {
  for (auto run = group.runs.rbegin() + 1; run != group.runs.rend(); ++run) {
    if (!run->complete) continue;
    const reports::Report base = reports::load_report(run->path, reports::CaseJson::drop);
    reports::CompareOptions options;
    // An older run of other suites is no missing case here: the page shows what changed.
    options.allow_missing = true;
    options.base_name = run->path;
    options.next_name = group.runs.back().path;
    return reports::compare(base, newest, options);
  }
  return std::nullopt;
}

/// What every form of a report needs: the report, and with several its past.
struct Shown {
  reports::Report report;
  std::optional<reports::History> history;
  std::optional<reports::Comparison> comparison;
};

Shown read_inputs(const ReportArguments& arguments) {
  if (arguments.inputs.size() == 1 && !fs::is_directory(arguments.inputs.front())) {
    return {reports::load_report(arguments.inputs.front()), std::nullopt, std::nullopt};
  }
  Shown shown;
  shown.history = read_history(arguments);
  const reports::HistoryGroup& newest = shown.history->groups.front();
  shown.report = reports::load_report(newest.runs.back().path);
  shown.comparison = against_previous(newest, shown.report);
  return shown;
}

void write_or_print(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    fmt::print("{}", text);
  } else {
    reports::write_file(path, text);
  }
}

void render_report(const ReportArguments& arguments) {
  if (!arguments.out.empty() && arguments.format.empty()) throw UsageError("--out: needs --format beside it");
  const Shown shown = read_inputs(arguments);
  if (!arguments.html.empty()) {
    const reports::DashboardParts parts{.comparison = shown.comparison ? &*shown.comparison : nullptr,
                                        .history = shown.history ? &*shown.history : nullptr,
                                        .view = {}};
    reports::write_file(arguments.html, reports::dashboard_html(shown.report, parts));
  }
  if (!arguments.junit.empty()) reports::write_file(arguments.junit, reports::export_as("junit", shown.report));
  if (!arguments.format.empty()) {
    write_or_print(arguments.out, reports::export_as(arguments.format, shown.report, arguments.link));
  }
  if (arguments.html.empty() && arguments.junit.empty() && arguments.format.empty()) {
    fmt::print("{}", reports::summary_text(shown.report, {terminal_columns(), stdout_is_terminal()}));
    if (shown.history)
      fmt::print("{}", reports::history_text(*shown.history, {terminal_columns(), stdout_is_terminal()}));
  }
}

}  // namespace

void add_report(CLI::App& app, CommandContext&) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "Show reports: as text, as a web page, or in another tool's format");
  command
      ->add_option(
          "report", arguments->inputs,
          "Report files (.jsonl of an interrupted run too) or directories of them: the newest, with its history")
      ->required();
  command->add_option("--html", arguments->html, "Write the dashboard: one page that opens offline");
  command->add_option("--junit", arguments->junit, "Write JUnit XML");
  command->add_option("--format", arguments->format, "Write another format: to --out, or to standard output")
      ->check(CLI::IsMember(std::vector<std::string>(reports::kExportFormats.begin(), reports::kExportFormats.end())));
  command->add_option("--out", arguments->out, "File for --format; - is standard output");
  command->add_option("--link", arguments->link, "Address of the dashboard that the markdown format links to");
  command->add_option("--accepted", arguments->accepted,
                      "Steps of the history that are known and wanted [accepted-steps.json in each directory]");
  command->add_option("--last", arguments->history.last, "Newest runs of a machine that the history keeps [1000]")
      ->check(CLI::Range(1, 1000000));
  command->callback([arguments] { render_report(*arguments); });
}

}  // namespace mla::harness
