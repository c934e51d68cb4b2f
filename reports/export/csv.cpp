#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/export/formats.hpp"

namespace mla::reports {
namespace {

/// RFC 4180: what holds a separator, a quote or a line break is quoted, quotes are doubled.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

/// The shortest text that reads back as the same double.
std::string field(double value) {
  return fmt::format("{}", value);
}

std::string axis_field(const Json& axis) {
  if (axis.is_null()) return {};
  return field(axis.is_string() ? axis.get<std::string>() : axis.dump());
}

/// Names of the axes of all cases, in the order in which they first appear.
std::vector<std::string> axis_names(const Report& report) {
  std::vector<std::string> names;
  for (const Case& entry : report.cases) {
    for (const auto& [name, value] : entry.json.at("axes").items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

constexpr std::array kColumns = {
    "key",         "problem",      "provider",      "device",          "suite",  "name",        "verdict",
    "reason_kind", "reason",       "kernel",        "kernel_variant",  "digest", "error_ratio", "median_ns",
    "ci95_low_ns", "ci95_high_ns", "launches",      "samples",         "bytes",  "flops",       "tb_per_s",
    "tflop_per_s", "ceiling",      "ceiling_bound", "ceiling_percent", "timer",  "cache"};

void add_measured(const std::optional<Performance>& performance, std::vector<std::string>& row) {
  if (!performance) {
    row.insert(row.end(), 14, "");
    return;
  }
  std::size_t samples = 0;
  for (const auto& launch : performance->launch_samples_ns) samples += launch.size();
  row.insert(row.end(), {field(performance->median_ns), field(performance->ci95_low_ns),
                         field(performance->ci95_high_ns), fmt::format("{}", performance->launch_samples_ns.size()),
                         fmt::format("{}", samples), field(performance->bytes), field(performance->flops),
                         field(performance->tb_per_s), field(performance->tflop_per_s)});
  const auto& ceiling = performance->ceiling;
  row.insert(row.end(), {ceiling ? field(ceiling->name) : "", ceiling ? field(ceiling->bound) : "",
                         ceiling ? field(ceiling->percent) : "", field(performance->timer), field(performance->cache)});
}

std::vector<std::string> row_of(const Case& entry) {
  const SuiteName suite = entry.suites.empty() ? SuiteName{} : entry.suites.front();
  const Kernel kernel = entry.kernel.value_or(Kernel{});
  const auto ratio = entry.worst_ratio();
  std::vector<std::string> row = {field(entry.key),
                                  field(entry.problem),
                                  field(entry.provider),
                                  field(entry.device),
                                  field(suite.suite),
                                  field(suite.name),
                                  field(name_of(entry.verdict)),
                                  entry.reason ? field(entry.reason->kind) : "",
                                  entry.reason ? field(entry.reason->message) : "",
                                  field(kernel.name),
                                  field(kernel.variant),
                                  field(kernel.digest),
                                  ratio ? field(*ratio) : ""};
  add_measured(entry.performance, row);
  return row;
}

}  // namespace

std::string csv_text(const Report& report) {
  const std::vector<std::string> axes = axis_names(report);
  std::string text = fmt::format("{}", fmt::join(kColumns, ","));
  for (const std::string& axis : axes) text += "," + field("axis_" + axis);
  text += "\r\n";
  for (const Case& entry : report.cases) {
    text += fmt::format("{}", fmt::join(row_of(entry), ","));
    const Json& values = entry.json.at("axes");
    for (const std::string& axis : axes) {
      const auto value = values.find(axis);
      text += "," + (value == values.end() ? std::string() : axis_field(*value));
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace mla::reports
