#include "reports/pair/launch.hpp"

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/strict_json.hpp"
#include "reports/error.hpp"
#include "reports/statistics/median.hpp"
#include "reports/version.hpp"

namespace mla::reports {

std::string_view name_of(PairStage stage) {
  return stage == PairStage::screen ? "screen" : "confirm";
}

std::string_view name_of(PairSide side) {
  return side == PairSide::base ? "base" : "new";
}

LaunchTimes parse_launch(std::string_view line) {
  const Json document = detail::parse_strict(line);
  const detail::Field field(document);
  const detail::Field schema = field.object().at("schema").object();
  if (schema.at("name").text() != kLaunchSchema) schema.at("name").refuse(fmt::format("must be {}", kLaunchSchema));
  const std::string& version = schema.at("version").text();
  if (!version.starts_with(fmt::format("{}.", kLaunchMajor))) {
    schema.at("version").refuse(fmt::format("this program reads major version {}", kLaunchMajor));
  }
  LaunchTimes times;
  times.timer = field.at("timer").nonempty();
  times.cache = field.at("cache").nonempty();
  field.at("samples_ns").array(1).each([&](const detail::Field& ns) { times.samples_ns.push_back(ns.above_zero()); });
  if (const auto clocks = field.find("clocks")) times.clocks = clocks->object().json();
  return times;
}

Json launch_json(const LaunchTimes& times) {
  return {{"schema", {{"name", std::string(kLaunchSchema)}, {"version", std::string(kLaunchVersion)}}},
          {"timer", times.timer},
          {"cache", times.cache},
          {"samples_ns", times.samples_ns},
          {"clocks", times.clocks}};
}

double PairLaunch::median_ns() const {
  return statistics::median(times.samples_ns);
}

}  // namespace mla::reports
