#include "reports/history/accepted.hpp"

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/file.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/error.hpp"
#include "reports/pattern.hpp"

namespace mla::reports {
namespace {

std::vector<AcceptedStep> parse(const Json& document) {
  const detail::Field root(document);
  root.only({"schema", "steps"});
  const detail::Field schema = root.at("schema");
  schema.only({"name", "version"});
  if (schema.at("name").text() != kAcceptedSchema)
    schema.at("name").refuse(fmt::format("must be '{}'", kAcceptedSchema));
  if (!schema.at("version").text().starts_with("1.")) schema.at("version").refuse("must be 1.x.y");
  std::vector<AcceptedStep> steps;
  root.at("steps").array().each([&](const detail::Field& step) {
    step.only({"run", "case", "note"});
    if (step.at("run").text().size() < 7) step.at("run").refuse("must have at least 7 characters");
    steps.push_back({step.at("run").text(), step.at("case").nonempty(), step.at("note").nonempty()});
  });
  return steps;
}

}  // namespace

std::vector<AcceptedStep> load_accepted(const std::filesystem::path& path) {
  try {
    const Json document = detail::parse_strict(detail::read_file(path));
    return parse(document);
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void accept(History& history, const std::vector<AcceptedStep>& accepted) {
  for (HistoryGroup& group : history.groups) {
    for (HistoryCase& entry : group.cases) {
      for (Step& step : entry.trend.steps) {
        const HistoryRun& run = group.runs[step.run];
        for (const AcceptedStep& known : accepted) {
          const bool same_run = run.id == known.run || run.git_sha.starts_with(known.run);
          if (same_run && matches(known.cases, entry.key)) step.accepted = known.note;
        }
      }
    }
  }
}

}  // namespace mla::reports
