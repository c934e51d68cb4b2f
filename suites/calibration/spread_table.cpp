// Tier S over reports of the suite `calibration`: by provider, declared type of P and distribution how the errors were
// spread, and the c that would make their root mean square 1. What the reports say of it can be kept as a small data
// file, which is read like a report; `--check` holds the limits of the error model to it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reference/error_model.hpp"
#include "reports/error.hpp"
#include "reports/load.hpp"

namespace {

using mla::reports::Json;
using Limits = mla::reference::StatisticalLimits;

// What a case showed on one of its distributions. Numbers as a report gives them, null where it gives none.
struct Observation {
  std::string provider;
  std::string probabilities;  // type of P
  std::string contents;
  std::string problem;
  double elements = 0;
  double rms = 0;  // of z
  double row_rms = 0;
  double z_max = 0;
  bool rows_judged = true;
  std::optional<double> slope;
  std::optional<double> slope_error;
  bool slope_judged = true;
  double lse = 0;  // largest ratio to its bound
  double hard = 0;
};

constexpr const char* kColumns[] = {"provider",    "probabilities", "contents", "problem",     "elements",
                                    "rms",         "row_rms",       "z_max",    "rows_judged", "slope",
                                    "slope_error", "slope_judged",  "lse",      "hard"};

std::optional<double> number(const Json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// Four digits are more than a limit needs.
Json rounded(std::optional<double> value, int digits = 4) {
  return value ? Json::parse(fmt::format("{:.{}g}", *value, digits)) : Json();
}

Json row_of(const Observation& one) {
  return {one.provider,          one.probabilities,         one.contents,
          one.problem,           rounded(one.elements, 12), rounded(one.rms),
          rounded(one.row_rms),  rounded(one.z_max),        one.rows_judged,
          rounded(one.slope, 7), rounded(one.slope_error),  one.slope_judged,
          rounded(one.lse),      rounded(one.hard)};
}

Observation observation_of(const Json& row) {
  Observation one;
  one.provider = row.at(0);
  one.probabilities = row.at(1);
  one.contents = row.at(2);
  one.problem = row.at(3);
  one.elements = row.at(4);
  one.rms = row.at(5);
  one.row_rms = row.at(6);
  one.z_max = row.at(7);
  one.rows_judged = row.at(8);
  one.slope = number(row.at(9));
  one.slope_error = number(row.at(10));
  one.slope_judged = row.at(11);
  one.lse = row.at(12);
  one.hard = row.at(13);
  return one;
}

class Observations {
 public:
  void add_file(const std::string& path) {
    std::ifstream file(path);
    const Json document = Json::parse(file, nullptr, false);
    if (document.is_object() && document.contains("calibration")) {
      for (const Json& row : document.at("calibration")) all_.push_back(observation_of(row));
      return;
    }
    for (const mla::reports::Case& one : mla::reports::load_report(path).cases) add_case(one);
  }

  [[nodiscard]] const std::vector<Observation>& all() const { return all_; }

  // A line an observation, so that a later fit differs line by line.
  [[nodiscard]] std::string text() const {
    std::string text = "{\"columns\": " + Json(kColumns).dump() + ",\n\"calibration\": [\n";
    for (std::size_t i = 0; i < all_.size(); ++i) {
      text += row_of(all_[i]).dump() + (i + 1 < all_.size() ? ",\n" : "\n");
    }
    return text + "]}\n";
  }

 private:
  void add_case(const mla::reports::Case& one) {
    const auto correctness = one.json.find("correctness");
    if (one.verdict != mla::reports::Verdict::passed || correctness == one.json.end()) return;
    Observation seen;
    seen.provider = one.provider;
    seen.problem = one.json.at("problem");
    seen.elements = correctness->at("elements");
    seen.probabilities = correctness->at("precision").at("probabilities");
    const std::string contents = one.json.at("axes").value("dist", "randn");
    add_tiers(seen, contents.substr(0, contents.find('+')), correctness->at("tiers"));
    const auto others = correctness->find("distributions");
    if (others == correctness->end() || !others->is_object()) return;
    for (const auto& [name, result] : others->items()) add_tiers(seen, name, result.at("tiers"));
  }

  void add_tiers(Observation seen, const std::string& contents, const Json& tiers) {
    const Json& stat = tiers.at("stat");
    seen.contents = contents;
    seen.rms = stat.at("rms");
    seen.row_rms = stat.at("row_rms_max");
    seen.z_max = stat.at("z_max");
    seen.rows_judged = stat.at("verdict") != "skipped";
    seen.slope = number(stat.at("slope"));
    seen.slope_error = number(stat.value("slope_error", Json()));
    seen.slope_judged = stat.at("slope_limit").is_number();
    seen.lse = tiers.at("lse").at("max_ratio");
    seen.hard = tiers.at("hard").at("max_ratio");
    all_.push_back(std::move(seen));
  }

  std::vector<Observation> all_;
};

struct Spread {
  int observations = 0;
  double elements = 0;
  double square_sum = 0;  // of z
  double row_rms = 0;
  double z_max = 0;
  double slope_low = 1;
  double slope_high = 1;
  double slope_sigmas = 0;
  double lse = 0;
  double hard = 0;

  void add(const Observation& one) {
    ++observations;
    elements += one.elements;
    square_sum += one.elements * one.rms * one.rms;
    row_rms = std::max(row_rms, one.row_rms);
    z_max = std::max(z_max, one.z_max);
    if (one.slope && one.slope_judged) {
      slope_low = std::min(slope_low, *one.slope);
      slope_high = std::max(slope_high, *one.slope);
      if (one.slope_error) slope_sigmas = std::max(slope_sigmas, std::abs(*one.slope - 1) / *one.slope_error);
    }
    lse = std::max(lse, one.lse);
    hard = std::max(hard, one.hard);
  }
  [[nodiscard]] double rms() const { return elements > 0 ? std::sqrt(square_sum / elements) : 0; }
};

void print_table(const std::vector<Observation>& observations) {
  using Key = std::tuple<std::string, std::string, std::string>;  // provider, type of P, distribution
  std::map<Key, Spread> table;
  for (const Observation& one : observations) table[{one.provider, one.probabilities, one.contents}].add(one);
  fmt::print(
      "| provider | P | contents | seen | rms z | c | row rms | max z | slope | sigmas | lse/bound | hard/bound |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [key, spread] : table) {
    const auto& [provider, type, dist] = key;
    fmt::print(
        "| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.5f}..{:.5f} | {:.1f} | {:.2f} | {:.2f} |\n",
        provider, type, dist, spread.observations, spread.rms(), Limits::kRounding * spread.rms(), spread.row_rms,
        spread.z_max, spread.slope_low, spread.slope_high, spread.slope_sigmas, spread.lse, spread.hard);
  }
}

// By the limits as they are now, not as they were when the case ran.
bool is_beyond(const Observation& one) {
  if (one.rows_judged && (one.row_rms > Limits::kRowRms || one.z_max > Limits::kElement)) return true;
  if (!one.slope || !one.slope_judged) return false;
  const bool fp8 = one.probabilities.starts_with("e4m3");
  const double least = Limits::slope(fp8 ? mla::DataType::e4m3fn : mla::DataType::bf16);
  return std::abs(*one.slope - 1) > std::max(least, Limits::kSlopeSigmas * one.slope_error.value_or(0));
}

int count_beyond(const std::vector<Observation>& observations) {
  int beyond = 0;
  for (const Observation& one : observations) {
    if (!is_beyond(one)) continue;
    ++beyond;
    fmt::print("beyond a limit: {}\n", row_of(one).dump());
  }
  return beyond;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"How the errors of kernels were spread, from reports or from the data kept of them"};
  std::vector<std::string> files;
  std::string data;
  bool check = false;
  app.add_option("files", files, "Reports, or files that --data wrote")->required()->check(CLI::ExistingFile);
  app.add_option("--data", data, "Keep what was read in this file");
  app.add_flag("--check", check, "Fail where anything that was read lies beyond a limit of the error model");
  CLI11_PARSE(app, argc, argv);
  try {
    Observations observations;
    for (const std::string& file : files) observations.add_file(file);
    if (!data.empty()) std::ofstream(data, std::ios::binary) << observations.text();
    print_table(observations.all());
    if (!check) return 0;
    const int beyond = count_beyond(observations.all());
    fmt::print("{} observations, {} beyond a limit\n", observations.all().size(), beyond);
    return beyond == 0 && !observations.all().empty() ? 0 : 1;
  } catch (const mla::reports::ReportError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  } catch (const Json::exception& error) {
    fmt::print(stderr, "neither a report nor the data of one: {}\n", error.what());
    return 4;
  }
}
