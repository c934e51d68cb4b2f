// What the harness and the kernels' host side spend their own time on.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/inputs/buffer.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/problem.hpp"
#include "reference/decode.hpp"
#include "suites/plan/plan_case.hpp"

namespace {

// --- problem word
// -----------------------------------------------------------------------------------------------------

constexpr const char* kWord = "decode:h=128,q=4+4+1,b=3,kv=8192+1+17,page=16,dtype=fp8,scale=0.1,dist=randn+sharp";

void parse_word(benchmark::State& state) {
  for (auto iteration : state) {
    (void)iteration;
    benchmark::DoNotOptimize(mla::harness::Problem::parse(kWord));
  }
}
BENCHMARK(parse_word)->Name("problem_word/parse");

void print_word(benchmark::State& state) {
  const auto problem = mla::harness::Problem::parse(kWord);
  for (auto iteration : state) {
    (void)iteration;
    benchmark::DoNotOptimize(problem.word());
  }
}
BENCHMARK(print_word)->Name("problem_word/print");

// --- planner
// ----------------------------------------------------------------------------------------------------------

/// Requests of 1 to 16384 tokens, as ragged as in service, over the 256 compute units of an MI355.
mla::test::PlanCase batch_of(std::int32_t requests) {
  mla::test::PlanCase problem;
  problem.page_size = 64;
  problem.limits.heads = 128;
  problem.limits.max_batch = requests;
  problem.limits.num_workers = 256;
  std::uint32_t random = 1;
  for (std::int32_t i = 0; i < requests; ++i) {
    random = 1664525U * random + 1013904223U;
    problem.q_len.push_back(1);
    problem.kv_len.push_back(static_cast<std::int32_t>(1 + random % 16384));
  }
  return problem;
}

void plan(benchmark::State& state) {
  const mla::test::PlanCase problem = batch_of(static_cast<std::int32_t>(state.range(0)));
  const mla::test::RaggedBatch batch(problem);
  const mla::test::GuardedPlan made(mla::workspace_layout(problem.limits));
  const auto planned = mla::plan_problem(problem.limits, batch.view(), problem.page_size);
  for (auto iteration : state) {
    (void)iteration;
    mla::make_plan(planned, made.view());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(plan)->ArgName("requests")->RangeMultiplier(8)->Range(1, 4096);

// --- reference
// --------------------------------------------------------------------------------------------------------

void reference(benchmark::State& state) {
  using namespace mla::harness;
  const Problem word = Problem::parse("decode:h=16,b=1,kv=" + std::to_string(state.range(0)));
  word.visit([&](const DecodeProblem& problem) {
    const DecodeLayout layout(problem, mla::DataType::e4m3fn);
    Arena arena = Arena::create(layout.input_bytes());
    const DecodeInputBuffers buffers = layout.take_inputs(arena);
    fill_inputs(problem, layout, buffers);
    const mla::DecodeInputs inputs = layout.bind(buffers);
    std::vector<std::byte> memory(mla::reference::DecodeOracle::bytes(1, 16));
    const auto oracle = mla::reference::DecodeOracle::over(memory, 1, 16);
    for (auto iteration : state) {
      (void)iteration;
      mla::reference::decode(inputs, oracle);
      benchmark::ClobberMemory();
    }
  });
}
BENCHMARK(reference)->ArgName("tokens")->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
