#include "harness/runner/performance_record.hpp"

#include <algorithm>
#include <optional>

namespace mla::harness {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> ceiling_value(std::span<const Ceiling> ceilings, std::string_view name, std::string_view device) {
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.name == name && ceiling.device == device) return ceiling.value;
  }
  return std::nullopt;
}

// A CPU kernel may beat the library's matmul, but not the rate of its multiply-adds.
std::string_view product_ceiling(const Cost& cost, std::string_view device) {
  if (device != "gpu") return "fma_f32";
  return cost.fp8_products ? "matmul_fp8" : "matmul_bf16";
}

// The ceiling that allows fewer launches a second is the one a kernel can come near.
Json nearer_ceiling(const Cost& cost, double median_ns, std::string_view device, std::span<const Ceiling> ceilings) {
  const std::string_view matmul_name = product_ceiling(cost, device);
  const auto memory = ceiling_value(ceilings, "memory_read", device);
  const auto matmul = ceiling_value(ceilings, matmul_name, device);
  if (!memory || !matmul || cost.bytes == 0) return nullptr;
  const double memory_ns = static_cast<double>(cost.bytes) / *memory;  // GB/s is bytes a nanosecond
  const double matmul_ns = static_cast<double>(cost.flops) / *matmul;
  const bool memory_bound = memory_ns >= matmul_ns;
  return {{"bound", memory_bound ? "memory" : "compute"},
          {"name", memory_bound ? "memory_read" : matmul_name},
          {"percent", 100 * std::max(memory_ns, matmul_ns) / median_ns}};
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json reading_json(const ClockReading& reading) {
  return {{"sm_mhz", or_null(reading.sm_mhz)},
          {"memory_mhz", or_null(reading.memory_mhz)},
          {"cpu_mhz", or_null(reading.cpu_mhz)},
          {"power_w", or_null(reading.power_w)},
          {"temperature_c", or_null(reading.temperature_c)},
          {"throttle", or_null(reading.throttle)}};
}

}  // namespace

Json clocks_json(const Measurement& measurement) {
  if (measurement.clock_source.empty()) return nullptr;
  return {{"source", measurement.clock_source},
          {"start", reading_json(measurement.clocks_before)},
          {"end", reading_json(measurement.clocks_after)}};
}

Json performance_json(const Measurement& measurement, const Cost& cost, std::span<const Ceiling> ceilings) {
  const SampleResult& samples = measurement.samples;
  Json record;
  record["timer"] = measurement.timer;
  record["cache"] = measurement.cache;
  record["launch_samples_ns"] = Json::array({samples.samples_ns});
  record["median_ns"] = samples.median_ns;
  record["ci95_ns"] = {samples.ci95_low_ns, samples.ci95_high_ns};
  record["bytes"] = cost.bytes;
  record["flops"] = cost.flops;
  record["tb_per_s"] = static_cast<double>(cost.bytes) / samples.median_ns * 1e-3;
  record["tflop_per_s"] = static_cast<double>(cost.flops) / samples.median_ns * 1e-3;
  record["ceiling"] = nearer_ceiling(cost, samples.median_ns, measurement.device, ceilings);
  record["stages_ns"] = Json::array();
  for (const StageTime& stage : measurement.stages)
    record["stages_ns"].push_back({{"stage", stage.stage}, {"ns", stage.ns}});
  record["clocks"] = clocks_json(measurement);
  return record;
}

}  // namespace mla::harness
