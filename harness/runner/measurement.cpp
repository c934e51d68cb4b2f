#include "harness/runner/measurement.hpp"

#include <fmt/format.h>

#include "harness/inputs/rotation.hpp"
#include "harness/runner/environment.hpp"
#include "harness/timing/last_level_cache.hpp"

namespace mla::harness {

Measurement measure(DecodeExecution& execution, const DecodeCase& problem_case, std::string_view device,
                    const MeasureOptions& options) {
  const bool own_caches = options.cache && execution.set_cache(*options.cache);
  std::optional<Rotation> rotation;
  if (options.cache == CacheState::cold && !own_caches && device == "cpu" && !problem_case.layout.pool().sparse) {
    rotation.emplace(problem_case.inputs.kv, cold_bytes(), available_memory_bytes() / 4);
  }
  Measurement measurement;
  const auto clocks = open_clocks(execution.pci_address());
  SampleHooks hooks;
  if (rotation) hooks.between = [&rotation] { rotation->advance(); };
  if (clocks) hooks.warmed_up = [&] { measurement.clocks_before = clocks->read(); };
  measurement.samples = sample_timed([&execution] { return execution.timed_run(); }, options.sampling, hooks);
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
