#include "harness/cli/cli.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/command.hpp"
#include "harness/core/build_info.hpp"
#include "harness/problem/problem.hpp"
#include "reports/error.hpp"

namespace mla::harness {

namespace {

std::string footer() {
  std::string text = "A problem is one word; fields at their default are left out:\n";
  for (const FieldHelp& field : Problem::fields(Operation::decode)) {
    text += fmt::format("  {:<7} {:<24} {}\n", field.name, field.default_value, field.meaning);
    text += fmt::format("  {:<7} {:<24} ({})\n", "", "", field.values);
  }
  text +=
      "Lists join values with '+', and NxV stands for N times V: kv=8192+1+3x64.\n\n"
      "Examples:\n"
      "  mla-harness run smoke --out out/report.json          check and measure the smoke suite\n"
      "  mla-harness run decode:b=16,kv=4096 --provider eigen  one problem, one provider\n"
      "  mla-harness compare base.json new.json                what changed between two reports\n\n"
      "Exit codes: 0 ok, 1 regression, 2 wrong result, 3 invalid environment or comparison,\n"
      "            4 usage or schema, 5 missing cases, 130 interrupted";
  return text;
}

// A message from a library may run over several lines; a gate's log shows one.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::size_t kLongest = 400;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

int fail(const std::string& message, ExitCode code) {
  fmt::print(stderr, "mla-harness: {}\n", one_line(message));
  return static_cast<int>(code);
}

}  // namespace

int command_line(int argc, char** argv, const ProviderList& providers) {
  CommandContext context{providers, {argv, argv + argc}};
  CLI::App app{"Correctness and performance test harness for multi-head latent attention (MLA)", "mla-harness"};
  app.set_version_flag("--version", version_line());
  app.require_subcommand(1);
  app.footer(footer());
  try {
    add_run(app, context);
    add_list(app, context);
    add_compare(app, context);
    add_pair(app, context);
    add_merge(app, context);
    add_report(app, context);
    add_shrink(app, context);
    add_explain(app, context);
    add_launch(app, context);
    add_doctor(app, context);
    app.parse(argc, argv);
    return static_cast<int>(context.result);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + " (see mla-harness --help)", ExitCode::usage);
  } catch (const UsageError& error) {
    return fail(error.what(), ExitCode::usage);
  } catch (const reports::ReportError& error) {
    return fail(error.what(), ExitCode::usage);
  } catch (const EnvironmentError& error) {
    return fail(error.what(), ExitCode::invalid_environment);
  } catch (const std::exception& error) {
    return fail(fmt::format("unexpected: {}", error.what()), ExitCode::invalid_environment);
  }
}

}  // namespace mla::harness
