// Runs kernels without a fault and counts false alarms: the evidence behind the limits of tier S, at a length that a
// test has no time for. Prints what was seen by declared type of P; exit status 1 where there was an alarm.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "suites/mutation/clean_runs.hpp"
#include "suites/mutation/emulated_provider.hpp"
#include "suites/mutation/mutation_case.hpp"

namespace {

using mla::harness::DecodeCheck;
using Clock = std::chrono::steady_clock;

struct Seen {
  int runs = 0;
  std::int64_t rows = 0;
  int alarms = 0;
  double row_rms = 0;
  double z_max = 0;
  int slopes = 0;                 // judged
  double slope_off = 0;           // largest |slope - 1|
  double slope_sigmas = 0;        // largest |slope - 1| in standard errors
  double slope_square_sigma = 0;  // sum of their squares

  void add(const DecodeCheck& check) {
    ++runs;
    rows += check.rows;
    alarms += check.passed() ? 0 : 1;
    if (check.tiers.at(1).verdict == mla::harness::TierVerdict::skipped) return;
    row_rms = std::max(row_rms, check.spread.row_rms);
    z_max = std::max(z_max, check.spread.z_max);
    if (!check.spread.slope_limit) return;
    const double off = std::abs(*check.spread.slope - 1);
    const double sigmas = off / *check.spread.slope_error;
    ++slopes;
    slope_off = std::max(slope_off, off);
    slope_sigmas = std::max(slope_sigmas, sigmas);
    slope_square_sigma += sigmas * sigmas;
  }
};

void show_progress(int done, int runs, Clock::time_point begin) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print(stderr, "\r{} of {} runs, {:.0f} a second, {:.0f} s left ", done, runs, done / seconds,
             seconds / done * (runs - done));
  if (done == runs) fmt::print(stderr, "\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Kernels without a fault: counts what the checks report all the same"};
  int runs = 10'000;
  app.add_option("--runs", runs, "How many [10000]")->check(CLI::Range(1, 1'000'000'000));
  CLI11_PARSE(app, argc, argv);
  std::map<std::string, Seen> by_type;
  const auto begin = Clock::now();
  for (int run = 0; run < runs; ++run) {
    const std::string word = mla::mutation::clean_word(run);
    const mla::mutation::MutationCase mutated(word);
    const DecodeCheck check = mutated.run(mla::mutation::clean());
    by_type[std::string(name_of(mutated.precision().probabilities))].add(check);
    if (!check.passed()) fmt::print("\nfalse alarm: {}: {}\n", word, check.message());
    if ((run + 1) % 100 == 0 || run + 1 == runs) show_progress(run + 1, runs, begin);
  }
  int alarms = 0;
  fmt::print(
      "| P | runs | rows | false alarms | row rms | max z | slopes judged | off 1 | in standard errors | rms |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [type, seen] : by_type) {
    alarms += seen.alarms;
    fmt::print("| {} | {} | {} | {} | {:.2f} | {:.1f} | {} | {:.5f} | {:.1f} | {:.2f} |\n", type, seen.runs, seen.rows,
               seen.alarms, seen.row_rms, seen.z_max, seen.slopes, seen.slope_off, seen.slope_sigmas,
               std::sqrt(seen.slope_square_sigma / std::max(seen.slopes, 1)));
  }
  return alarms == 0 ? 0 : 1;
}
