// Reports of many cases: written, read, compared.
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/load.hpp"
#include "reports/write.hpp"
#include "suites/reports/example_report.hpp"

namespace {

using mla::suites::Json;

/// `count` passed cases of eight launches, each of which has eight samples.
Json report_of(std::int64_t count, double slower = 1) {
  std::vector<Json> cases;
  for (std::int64_t i = 0; i < count; ++i) {
    cases.push_back(mla::suites::timed_case(fmt::format("decode:b={}", i + 1), "eigen",
                                            mla::suites::example_performance(slower * 1e5 * (1 + i % 37), 8)));
  }
  return mla::suites::example_report(cases);
}

void write(benchmark::State& state) {
  const mla::suites::TemporaryFolder folder;
  const Json report = report_of(state.range(0));
  for (auto iteration : state) {
    (void)iteration;
    mla::reports::write_report(folder / "r.json", report);
  }
}
BENCHMARK(write)->Name("report/write")->ArgName("cases")->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

void read(benchmark::State& state, mla::reports::CaseJson keep) {
  const mla::suites::TemporaryFolder folder;
  mla::reports::write_report(folder / "r.json", report_of(state.range(0)));
  for (auto iteration : state) {
    (void)iteration;
    benchmark::DoNotOptimize(mla::reports::load_report(folder / "r.json", keep));
  }
}
BENCHMARK_CAPTURE(read, whole, mla::reports::CaseJson::keep)
    ->Name("report/read/whole")
    ->ArgName("cases")
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, typed, mla::reports::CaseJson::drop)
    ->Name("report/read/typed")
    ->ArgName("cases")
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);

void compare(benchmark::State& state) {
  const auto base = mla::reports::parse_report(report_of(state.range(0)));
  const auto next = mla::reports::parse_report(report_of(state.range(0), 1.03));
  for (auto iteration : state) {
    (void)iteration;
    benchmark::DoNotOptimize(mla::reports::compare(base, next));
  }
}
BENCHMARK(compare)->Name("report/compare")->ArgName("cases")->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
