// The problems of suites as benchmarks of Google's library: one a case, named by its key, timed by its provider.
// Nothing is checked here; `mla-harness run` does that, and a wrong kernel has no speed.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "harness/cli/selection_options.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/error.hpp"
#include "harness/inputs/buffer.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/providers/registry.hpp"
#include "harness/runner/case_list.hpp"
#include "harness/runner/cost.hpp"
#include "harness/runner/environment.hpp"

namespace mla::harness {
namespace {

/// A problem's inputs and outputs, ready for a provider.
class Buffers {
 public:
  Buffers(const DecodeProblem& problem, DataType fp8)
      : problem_(problem),
        layout_(problem, fp8),
        input_arena_(Arena::create(layout_.input_bytes())),
        output_arena_(Arena::create(layout_.output_bytes())),
        inputs_(layout_.take_inputs(input_arena_)),
        outputs_(layout_.take_outputs(output_arena_)) {
    fill_inputs(problem_, layout_, inputs_);
    poison_outputs(outputs_);
  }
  [[nodiscard]] DecodeCase as_case() const { return {problem_, layout_, inputs_, outputs_}; }
  [[nodiscard]] Cost cost() const { return cost_of(problem_, layout_); }

 private:
  DecodeProblem problem_;
  DecodeLayout layout_;
  Arena input_arena_;
  Arena output_arena_;
  DecodeInputBuffers inputs_;
  DecodeOutputBuffers outputs_;
};

void run_case(benchmark::State& state, const DecodeProblem& problem, const Provider& provider) {
  if (const Support support = provider.supports(problem); !support.ok()) {
    state.SkipWithError(fmt::format("{}: {}", name_of(support.reason), support.detail).c_str());
    return;
  }
  const Buffers buffers(problem, provider.native_fp8());
  const auto execution = provider.prepare(buffers.as_case());
  (void)execution->timed_run();  // caches, clocks and the provider's own threads
  for (auto iteration : state) {
    (void)iteration;
    state.SetIterationTime(execution->timed_run() * 1e-9);
  }
  const auto per_second = [&](std::int64_t amount) {
    return benchmark::Counter(static_cast<double>(amount), benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["bytes_per_second"] = per_second(buffers.cost().bytes);
  state.counters["flops_per_second"] = per_second(buffers.cost().flops);
  state.SetLabel(fmt::format("{}, {}", execution->timer(), execution->cache_regime()));
}

void register_cases(const std::vector<PlannedProblem>& planned) {
  for (const PlannedProblem& plan : planned) {
    plan.problem.visit([&](const DecodeProblem& problem) {
      for (const Provider* provider : plan.providers) {
        benchmark::RegisterBenchmark(
            case_key(plan.word, *provider).c_str(),
            [problem, provider](benchmark::State& state) { run_case(state, problem, *provider); })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    });
  }
}

void add_context() {
  benchmark::AddCustomContext("mla_version", version_line());
  benchmark::AddCustomContext("mla_fingerprint", fingerprint(read_environment()));
}

int run(int argc, char** argv) {
  const ProviderList providers = builtin_providers();
  CLI::App app{"Suites' problems as Google Benchmark programs; options of that library (--benchmark_...) are its own",
               "mla.bench.problems"};
  Selection selection;
  add_selection_options(app, selection);
  benchmark::Initialize(&argc, argv);
  CLI11_PARSE(app, argc, argv);
  register_cases(list_cases(selection, providers));
  add_context();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace mla::harness

int main(int argc, char** argv) {
  try {
    return mla::harness::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "mla.bench.problems: {}\n", error.what());
    return static_cast<int>(mla::harness::ExitCode::usage);
  }
}
