#include "harness/runner/launch.hpp"

#include <fmt/format.h>

#include "harness/core/error.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/runner/performance_record.hpp"
#include "reports/pair/launch.hpp"
#include "reports/write.hpp"

namespace mla::harness {

std::string measure_launch(const DecodeProblem& problem, const Provider& provider, const MeasureOptions& options,
                           Turns* turns) {
  if (const Support support = provider.supports(problem); !support.ok()) {
    throw UsageError("--provider", provider.name(), fmt::format("{}: {}", name_of(support.reason), support.detail));
  }
  // Other contents than those that are measured are for checks alone.
  const DecodeProblem as_timed = problem.with_distribution(problem.fields().distribution);
  const DecodeLayout layout(as_timed, provider.native_fp8());
  Arena input_arena = Arena::create(layout.input_bytes());
  Arena output_arena = Arena::create(layout.output_bytes());
  const DecodeCase problem_case{as_timed, layout, layout.take_inputs(input_arena), layout.take_outputs(output_arena)};
  fill_inputs(as_timed, layout, problem_case.inputs);
  poison_outputs(problem_case.outputs);
  const auto execution = provider.prepare(problem_case);
  const Measurement measurement = measure(*execution, problem_case, provider.device(), options, turns);
  return reports::dump_strict(reports::launch_json(
      {measurement.timer, measurement.cache, measurement.samples.samples_ns, clocks_json(measurement)}));
}

}  // namespace mla::harness
