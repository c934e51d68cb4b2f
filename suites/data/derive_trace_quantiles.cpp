// derive_trace_quantiles NAME=FILE=SOURCE=LICENCE...: writes the quantile tables of traces to standard output.
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/trace.hpp"
#include "harness/suite/trace_quantiles.hpp"

namespace {

using namespace mla::harness;

std::vector<std::string> parts_of(const std::string& argument) {
  std::vector<std::string> parts(1);
  for (const char c : argument) {
    if (c == '=') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() != 4) throw UsageError("argument", argument, "NAME=FILE=SOURCE=LICENCE is needed");
  return parts;
}

TraceQuantiles table_of(const std::string& argument) {
  const std::vector<std::string> parts = parts_of(argument);
  TraceQuantiles table = derive_quantiles(read_trace(parts[1]));
  table.name = parts[0];
  table.source = parts[2];
  table.licence = parts[3];
  return table;
}

// One row a line: short enough to read, and a changed bin is a changed line.
void print(const TraceQuantiles& table, bool last) {
  nlohmann::json head = to_json(table);
  head.erase("output");
  std::string text = head.dump();
  text.pop_back();
  fmt::print("    {},\n     \"output\": [\n", text);
  for (std::size_t bin = 0; bin < table.output.size(); ++bin) {
    fmt::print("       [{}]{}\n", fmt::join(table.output[bin], ", "), bin + 1 < table.output.size() ? "," : "");
  }
  fmt::print("     ]}}{}\n", last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) throw UsageError("arguments", "", "NAME=FILE=SOURCE=LICENCE... is needed");
  fmt::print(
      "{{\n  \"description\": \"Joint quantiles of input and output tokens of public request traces, made by "
      "derive_trace_quantiles; input: 0..100 % in 64 equal steps, output: one row for each step, 0..100 % in "
      "eighths\",\n  \"traces\": [\n");
  for (const std::string& argument : arguments) print(table_of(argument), &argument == &arguments.back());
  fmt::print("  ]\n}}\n");
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "derive_trace_quantiles: {}\n", error.what());
  return static_cast<int>(ExitCode::usage);
}
