// Tier S over reports of the suite `calibration`, as a table: by provider, declared type of P and distribution how the
// errors were spread, and the c that would make their root mean square 1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "reports/error.hpp"
#include "reports/load.hpp"

namespace {

using mla::reports::Json;

constexpr double kRounding = 0.45;  // the c that reports are written with

struct Spread {
  int cases = 0;
  double elements = 0;
  double square_sum = 0;  // of z
  double row_rms = 0;
  double z_max = 0;
  double slope_low = 1;
  double slope_high = 1;
  double lse = 0;  // largest ratio to its bound
  double hard = 0;

  void add(const Json& tiers, double count) {
    const Json& stat = tiers.at("stat");
    const auto rms = stat.at("rms").get<double>();
    ++cases;
    elements += count;
    square_sum += count * rms * rms;
    row_rms = std::max(row_rms, stat.at("row_rms_max").get<double>());
    z_max = std::max(z_max, stat.at("z_max").get<double>());
    if (stat.at("slope").is_number()) {
      slope_low = std::min(slope_low, stat.at("slope").get<double>());
      slope_high = std::max(slope_high, stat.at("slope").get<double>());
    }
    lse = std::max(lse, tiers.at("lse").at("max_ratio").get<double>());
    hard = std::max(hard, tiers.at("hard").at("max_ratio").get<double>());
  }
  [[nodiscard]] double rms() const { return elements > 0 ? std::sqrt(square_sum / elements) : 0; }
};

using Key = std::tuple<std::string, std::string, std::string>;  // provider, type of P, distribution

void add_case(const mla::reports::Case& one, std::map<Key, Spread>& table) {
  const auto correctness = one.json.find("correctness");
  if (one.verdict != mla::reports::Verdict::passed || correctness == one.json.end()) return;
  const auto elements = correctness->at("elements").get<double>();
  const auto type = correctness->at("precision").at("probabilities").get<std::string>();
  const auto dist = one.json.at("axes").at("dist").get<std::string>();
  table[{one.provider, type, dist.substr(0, dist.find('+'))}].add(correctness->at("tiers"), elements);
  const auto others = correctness->find("distributions");
  if (others == correctness->end() || !others->is_object()) return;
  for (const auto& [name, result] : others->items()) {
    table[{one.provider, type, name}].add(result.at("tiers"), elements);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::map<Key, Spread> table;
  try {
    for (int i = 1; i < argc; ++i) {
      for (const mla::reports::Case& one : mla::reports::load_report(argv[i]).cases) add_case(one, table);
    }
  } catch (const mla::reports::ReportError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
  fmt::print("| provider | P | contents | cases | rms z | c | row rms | max z | slope | lse/bound | hard/bound |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [key, spread] : table) {
    const auto& [provider, type, dist] = key;
    fmt::print("| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.4f}..{:.4f} | {:.2f} | {:.2f} |\n",
               provider, type, dist, spread.cases, spread.rms(), kRounding * spread.rms(), spread.row_rms, spread.z_max,
               spread.slope_low, spread.slope_high, spread.lse, spread.hard);
  }
  return 0;
}
