#include "reports/detail/journal_lines.hpp"

#include <map>
#include <string>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/detail/validate.hpp"
#include "reports/error.hpp"
#include "reports/statistics/median.hpp"

namespace mla::reports::detail {
namespace {

/// Gives each error the number of its line.
template <class Parse>
auto at_line(std::size_t number, Parse&& parse) {
  try {
    return parse();
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("line {}: {}", number, error.what()));
  }
}

/// Median of all samples; its interval from the medians of the launches, since samples of one launch are no replicates.
void summarise_launches(Json& performance) {
  std::vector<double> samples;
  std::vector<double> medians;
  for (const Json& launch : performance.at("launch_samples_ns")) {
    const auto values = launch.get<std::vector<double>>();
    samples.insert(samples.end(), values.begin(), values.end());
    medians.push_back(statistics::median(values));
  }
  const double before = performance.at("median_ns").get<double>();
  const double median = statistics::median(std::move(samples));
  const statistics::Interval interval = statistics::estimate_median(std::move(medians)).ci95;
  performance["median_ns"] = median;
  performance["ci95_ns"] = {interval.low, interval.high};
  for (const char* rate : {"tb_per_s", "tflop_per_s"}) {
    performance[rate] = performance.at(rate).get<double>() * before / median;
  }
  if (const auto ceiling = performance.find("ceiling"); ceiling != performance.end() && ceiling->is_object()) {
    (*ceiling)["percent"] = ceiling->at("percent").get<double>() * before / median;
  }
}

}  // namespace

void add_launch(Json& report_case, const Json& line) {
  const Field field(line);
  if (const auto failure = field.find("failure")) {
    report_case["verdict"] = "crashed";
    report_case["reason"] = {{"kind", "launch"}, {"message", failure->nonempty()}};
    report_case.erase("performance");
    return;
  }
  const auto performance = report_case.find("performance");
  if (performance == report_case.end() || !performance->is_object()) {
    field.at("key").refuse("its case was not measured");
  }
  const Field samples = field.at("launch").object().at("samples_ns");
  samples.array(1).each([](const Field& sample) { (void)sample.above_zero(); });
  (*performance)["launch_samples_ns"].push_back(samples.json());
  summarise_launches(*performance);
}

bool is_journal(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = text.substr(0, end);
  // Cheap tests first: an indented report's first line is "{", and a report in one line has its cases in it.
  if (line.size() < 3 || line.find("\"cases\"") != std::string_view::npos) return false;
  return Json::accept(line.begin(), line.end()) && line.find("\"schema\"") != std::string_view::npos;
}

JournalLines read_journal(std::string_view text) {
  JournalLines lines;
  int minor = 0;
  std::map<std::string, std::size_t> places;
  for (std::size_t number = 1; lines.whole_bytes < text.size(); ++number) {
    const std::size_t end = text.find('\n', lines.whole_bytes);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(lines.whole_bytes, end - lines.whole_bytes);
    at_line(number, [&] {
      Json document = parse_strict(line);
      if (number == 1) {
        minor = parse_header(document, HeaderOf::journal).minor;
        lines.header = std::move(document);
        return;
      }
      if (document.is_object() && (document.contains("launch") || document.contains("failure"))) {
        const Field key = Field(document).at("key");
        const auto at = places.find(key.text());
        if (at == places.end()) key.refuse("no earlier line has this case");
        return add_launch(lines.cases[at->second], document);
      }
      const Case parsed = parse_case(document, document, minor);
      const bool is_new = places.emplace(parsed.key, lines.cases.size()).second;
      if (!is_new) Field(document).at("key").refuse("an earlier line has this key");
      lines.cases.push_back(std::move(document));
    });
    lines.whole_bytes = end + 1;
  }
  lines.cut_bytes = text.size() - lines.whole_bytes;
  if (lines.header.is_null()) throw ReportError("the journal has no header line");
  return lines;
}

}  // namespace mla::reports::detail
