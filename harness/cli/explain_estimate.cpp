#include "harness/cli/explain_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

// Datasheet of the MI355X: memory, dense bf16 rate, which is also that of the unscaled fp8 products that the kernels
// use, and clock.
constexpr double kBytesPerSecond = 8.0e12;
constexpr double kFlopsPerSecond = 2.5e15;
constexpr double kClock = 2.4e9;
constexpr double kCyclesAnInstruction = 4;
constexpr double kWaves = 4;

const reports::IsaKernel& kernel_of(const reports::IsaReport& isa, const std::string& name) {
  const auto found = std::find_if(isa.kernels.begin(), isa.kernels.end(), [&](const reports::IsaKernel& kernel) {
    return kernel.target == "gfx950" && kernel.name == name;
  });
  if (found == isa.kernels.end()) throw UsageError("--isa", name, "the report has no such gfx950 kernel");
  if (!found->numbers.contains("hot_loop.total")) throw UsageError("--isa", name, "the kernel has no loop");
  return *found;
}

}  // namespace

Mi355Estimate estimate_on_mi355(const DecodeProblem& problem, const PlanSummary& plan, const reports::IsaReport& isa) {
  const auto& fields = problem.fields();
  Mi355Estimate estimate;
  estimate.kernel = fmt::format("decode.{}.{}.{}", name_of(resolve(fields.q_type, DataType::e4m3fn)),
                                name_of(resolve(fields.kv_type, DataType::e4m3fn)), plan.tile.rows);
  const reports::IsaKernel& kernel = kernel_of(isa, estimate.kernel);
  const auto loop = [&](const char* number) { return static_cast<double>(kernel.numbers.at(number)); };
  estimate.instructions = loop("hot_loop.total");
  estimate.turns = plan.most_kv_tiles;
  estimate.memory_us = static_cast<double>(plan.kv_bytes + plan.partial_bytes) / kBytesPerSecond * 1e6;
  estimate.matrix_us =
      static_cast<double>(plan.kv_tiles) * kWaves * loop("hot_loop.matrix_flops") / kFlopsPerSecond * 1e6;
  estimate.issue_us = static_cast<double>(estimate.turns) * estimate.instructions * kCyclesAnInstruction / kClock * 1e6;
  return estimate;
}

}  // namespace mla::harness
