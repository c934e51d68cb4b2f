#include "harness/suite/trace_quantiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <Random123/philox.h>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/strict_json.hpp"

namespace mla::harness {

namespace {

// Quantile p of sorted values, the nearest one: lengths are integers that occurred.
std::int64_t quantile(std::span<const std::int64_t> sorted, double p) {
  return sorted[static_cast<std::size_t>(std::llround(p * static_cast<double>(sorted.size() - 1)))];
}

std::vector<std::int64_t> quantiles(std::span<const std::int64_t> sorted, std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = quantile(sorted, static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return values;
}

// Linear between the two neighbouring quantiles.
std::int64_t interpolate(std::span<const std::int64_t> values, double u) {
  const double at = u * static_cast<double>(values.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(at), values.size() - 2);
  const double share = at - static_cast<double>(low);
  const auto a = static_cast<double>(values[low]);
  const auto b = static_cast<double>(values[low + 1]);
  return std::llround(a + share * (b - a));
}

std::array<double, 3> uniforms(std::uint64_t seed, std::size_t index) {
  using Generator = r123::Philox4x32;
  const Generator::ctr_type counter{{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0}};
  const Generator::key_type key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const Generator::ctr_type bits = Generator()(counter, key);
  constexpr double kUnit = 1.0 / 4294967296.0;
  return {bits[0] * kUnit, bits[1] * kUnit, bits[2] * kUnit};
}

std::vector<std::int64_t> read_ascending(const JsonNode& list) {
  std::vector<std::int64_t> values;
  for (const JsonNode& item : list.items()) {
    values.push_back(item.integer(values.empty() ? 0 : values.back(), 100'000'000));
  }
  if (values.size() < 2) list.fail("at least two quantiles are needed");
  return values;
}

TraceQuantiles read_table(const JsonNode& node) {
  node.require_keys({"name", "source", "licence", "requests", "requests_per_second", "input", "output"});
  TraceQuantiles table;
  table.name = node.at("name").name();
  table.source = node.at("source").text();
  table.licence = node.at("licence").text();
  table.requests = node.at("requests").integer(1, std::int64_t{1} << 40);
  table.requests_per_second = node.at("requests_per_second").real(1e-6, 1e6);
  table.input = read_ascending(node.at("input"));
  for (const JsonNode& bin : node.at("output").items()) table.output.push_back(read_ascending(bin));
  if (table.output.size() + 1 != table.input.size()) {
    node.at("output").fail(fmt::format("one list for each of the {} bins of input is needed", table.input.size() - 1));
  }
  return table;
}

}  // namespace

TraceQuantiles derive_quantiles(std::span<const TraceRequest> requests, std::size_t bins, std::size_t outputs) {
  if (bins < 1 || requests.size() < bins) {
    throw UsageError("requests", std::to_string(requests.size()),
                     fmt::format("at least {}, one a bin, are needed", bins));
  }
  if (outputs < 2) throw UsageError("outputs", std::to_string(outputs), "at least 2 quantiles are needed");
  std::vector<TraceRequest> ordered(requests.begin(), requests.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.input_tokens < b.input_tokens; });
  TraceQuantiles table;
  table.requests = static_cast<std::int64_t>(requests.size());
  const double seconds = (requests.back().arrival_ms - requests.front().arrival_ms) / 1000;
  table.requests_per_second = seconds > 0 ? static_cast<double>(requests.size() - 1) / seconds : 1;
  std::vector<std::int64_t> inputs;
  for (const TraceRequest& request : ordered) inputs.push_back(request.input_tokens);
  table.input = quantiles(inputs, bins + 1);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = ordered.size() * bin / bins; i < ordered.size() * (bin + 1) / bins; ++i) {
      lengths.push_back(ordered[i].output_tokens);
    }
    std::sort(lengths.begin(), lengths.end());
    table.output.push_back(quantiles(lengths, outputs));
  }
  return table;
}

std::vector<TraceRequest> sample_requests(const TraceQuantiles& table, std::size_t count, std::uint64_t seed) {
  std::vector<TraceRequest> requests(count);
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [u_input, u_output, u_gap] = uniforms(seed, i);
    const auto bin = static_cast<std::size_t>(u_input * static_cast<double>(table.output.size()));
    requests[i] = {now, interpolate(table.input, u_input), interpolate(table.output[bin], u_output)};
    now += -std::log1p(-u_gap) * 1000 / table.requests_per_second;
  }
  return requests;
}

nlohmann::json to_json(const TraceQuantiles& table) {
  return {{"name", table.name},
          {"source", table.source},
          {"licence", table.licence},
          {"requests", table.requests},
          {"input", table.input},
          {"output", table.output},
          {"requests_per_second", table.requests_per_second}};
}

std::vector<TraceQuantiles> load_trace_quantiles(const std::filesystem::path& path) {
  const nlohmann::json document = read_strict_json(path);
  const JsonNode root(document, path.string());
  root.require_keys({"description", "traces"});
  std::vector<TraceQuantiles> tables;
  for (const JsonNode& node : root.at("traces").items()) {
    tables.push_back(read_table(node));
    const auto same_name = [&](const TraceQuantiles& table) { return table.name == tables.back().name; };
    if (std::count_if(tables.begin(), tables.end(), same_name) > 1) node.at("name").fail("the name is given twice");
  }
  return tables;
}

}  // namespace mla::harness
