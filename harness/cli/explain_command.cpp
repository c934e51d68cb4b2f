#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "harness/cli/command.hpp"
#include "harness/cli/explain_estimate.hpp"
#include "harness/cli/explain_plan.hpp"
#include "harness/problem/problem.hpp"
#include "harness/runner/cost.hpp"
#include "reports/isa_report.hpp"

namespace mla::harness {

namespace {

// Vendors' datasheet peaks; dense matrix rates. What a run reports is measured against measured ceilings instead.
struct DevicePeak {
  std::string_view name;
  double bytes_per_s;
  double bf16_flops_per_s;
  double fp8_flops_per_s;
  DataType native_fp8;
};

constexpr std::array<DevicePeak, 3> kDevices = {{
    {"MI355X", 8.0e12, 2.5e15, 5.0e15, DataType::e4m3fn},
    {"MI300X", 5.3e12, 1.307e15, 2.615e15, DataType::e4m3fnuz},
    {"H200", 4.8e12, 0.99e15, 1.98e15, DataType::e4m3fn},
}};

// The longest and shortest of a list, for a batch too long to print.
std::string spread(const std::vector<std::int64_t>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low == *high ? fmt::format("{}", *low) : fmt::format("{} to {}", *low, *high);
}

void print_bounds(const DecodeProblem& problem, const Cost& cost) {
  const bool fp8_matrix = problem.fields().q_type != ElementType::bf16;
  fmt::print("bound on       memory        matrix        (datasheet peaks, ideal traffic: no kernel is faster)\n");
  for (const DevicePeak& device : kDevices) {
    const double memory_us = static_cast<double>(cost.bytes) / device.bytes_per_s * 1e6;
    const double rate = fp8_matrix ? device.fp8_flops_per_s : device.bf16_flops_per_s;
    const double matrix_us = static_cast<double>(cost.flops) / rate * 1e6;
    fmt::print("  {:<10} {:>9.2f} us  {:>9.2f} us   {}-bound\n", device.name, memory_us, matrix_us,
               memory_us >= matrix_us ? "memory" : "compute");
  }
}

void print_plan(const PlanSummary& plan) {
  fmt::print("plan           {} works on {} of {} workers, {} of {} row tiles split, at most {} splits\n", plan.works,
             plan.busy_workers, plan.num_workers, plan.split_tiles, plan.tiles, plan.max_splits);
  fmt::print("               tile {} rows x {} tokens, busiest worker {:.2f}x the mean\n", plan.tile.rows,
             plan.tile.tokens, plan.imbalance);
  fmt::print("               predicted makespan {} tokens, {} with the best equal split\n", plan.makespan,
             plan.equal_split_makespan);
  fmt::print("               KV read {} bytes, partial results {} bytes, workspace {} bytes\n", plan.kv_bytes,
             plan.partial_bytes, plan.workspace_bytes);
}

void print_estimate(const Mi355Estimate& e) {
  const double longest = std::max({e.memory_us, e.matrix_us, e.issue_us});
  fmt::print("estimate       MI355X, {}: {:.2f} us or more. From the compiled loop and datasheet rates; not measured\n",
             e.kernel, longest);
  fmt::print("  memory     {:>9.2f} us     KV as the plan reads it and partial results, 8 TB/s\n", e.memory_us);
  fmt::print("  matrix     {:>9.2f} us     products of all turns, padding included, 2.5 PFLOP/s\n", e.matrix_us);
  fmt::print(
      "  issue      {:>9.2f} us     {} turns of the worker that has most, {:.0f} instructions each, 4 cycles of 2.4 "
      "GHz\n",
      e.issue_us, e.turns, e.instructions);
}

void explain(const DecodeProblem& problem, const reports::IsaReport* isa) {
  const DecodeLayout layout(problem, DataType::e4m3fn);
  const Cost cost = cost_of(problem, layout);
  const auto& fields = problem.fields();
  fmt::print("problem        {}\n", problem.word());
  fmt::print("batch          {} requests, {} query rows x {} heads, q_len {}\n", problem.batch(), problem.total_q(),
             fields.heads, spread(fields.q_lens));
  fmt::print("context        {} tokens in {} pages of {}, kv_len {}\n", problem.total_kv(), problem.total_pages(),
             fields.page_size, spread(fields.kv_lens));
  fmt::print("types          q {}, kv {}, out bf16, lse f32; sm_scale {}, q_scale {}, kv_scale {}\n",
             name_of(layout.q_type()), name_of(layout.kv_type()), fields.sm_scale, fields.q_scale, fields.kv_scale);
  fmt::print("bytes          {} (KV once, q, out, lse)\n", cost.bytes);
  fmt::print("flops          {} (2 x rows x heads x (576 + 512) x visible tokens)\n", cost.flops);
  if (cost.bytes > 0) {
    fmt::print("intensity      {:.1f} flop/byte\n", static_cast<double>(cost.flops) / static_cast<double>(cost.bytes));
  }
  print_bounds(problem, cost);
  const PlanSummary plan = plan_of(problem);
  print_plan(plan);
  if (isa != nullptr) print_estimate(estimate_on_mi355(problem, plan, *isa));
}

}  // namespace

void add_explain(CLI::App& app, CommandContext&) {
  const auto word = std::make_shared<std::string>();
  const auto isa = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("explain", "What a problem costs: bytes, flops, predicted bound, the split-KV plan");
  command->add_option("problem", *word, "Problem word")->required();
  command->add_option("--isa", *isa, "Kernels as compiled (out/isa.json of ci/rocm.sh): adds an estimate for MI355X");
  command->callback([word, isa] {
    // Read first: a file that cannot be read is said before anything is printed.
    std::optional<reports::IsaReport> report;
    if (!isa->empty()) report = reports::load_isa_report(*isa);
    Problem::parse(*word).visit([&](const auto& problem) { explain(problem, report ? &*report : nullptr); });
  });
}

}  // namespace mla::harness
