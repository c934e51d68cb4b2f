#include "harness/runner/measurement.hpp"

#include <fmt/format.h>

#include "harness/inputs/rotation.hpp"
#include "harness/runner/environment.hpp"
#include "harness/timing/last_level_cache.hpp"
#include "harness/timing/turns.hpp"

namespace mla::harness {

Measurement measure(DecodeExecution& execution, const DecodeCase& problem_case, std::string_view device,
                    const MeasureOptions& options, Turns* turns) {
  const bool own_caches = options.cache && execution.set_cache(*options.cache);
  std::optional<Rotation> rotation;
  if (options.cache == CacheState::cold && !own_caches && device == "cpu" && !problem_case.layout.pool().sparse) {
    rotation.emplace(problem_case.inputs.kv, cold_bytes(), available_memory_bytes() / 4);
  }
  Measurement measurement;
  const auto clocks = open_clocks(execution.pci_address());
  bool warmed_up = false;
  SampleHooks hooks;
  hooks.between = [&] {
    if (turns != nullptr && warmed_up && turns->over()) {
      turns->pass();
      (void)execution.timed_run();  // what the other one has put into the caches goes
    }
    if (rotation) rotation->advance();
  };
  hooks.warmed_up = [&] {
    if (turns != nullptr) turns->pass();
    warmed_up = true;
    if (clocks) measurement.clocks_before = clocks->read();
  };
  SampleConfig sampling = options.sampling;
  if (turns != nullptr) {
    sampling.budget_s *= 2;
    sampling.target = 0;  // to stop alone would leave the other one without its counterpart
    turns->wait();
  }
  measurement.samples = sample_timed([&execution] { return execution.timed_run(); }, sampling, hooks);
  if (clocks) {
    measurement.clocks_after = clocks->read();
    measurement.clock_source = clocks->name();
  }
  measurement.timer = execution.timer();
  // As the GPU's own rotation names itself.
  measurement.cache = rotation ? fmt::format("rotate:{}MiB", rotation->bytes() >> 20U) : execution.cache_regime();
  measurement.device = device;
  return measurement;
}

}  // namespace mla::harness
