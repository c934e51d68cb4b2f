#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/command.hpp"
#include "harness/core/build_info.hpp"
#include "harness/providers/registry.hpp"
#include "harness/runner/environment.hpp"
#include "harness/suite/suite.hpp"
#include "reports/dashboard/dashboard.hpp"

namespace mla::harness {

namespace {

void print_build() {
  const BuildInfo build = build_info();
  fmt::print("build          {}\n", version_line());
  fmt::print("               {}, {}, {}, for {}\n", build.compiler, build.type, build.flags, build.targets);
}

void print_machine(const Environment& machine) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  fmt::print("machine        {}, {}, Linux {}\n", machine.host, machine.os, machine.kernel);
  fmt::print("processor      {}, {} cores, {}, last-level cache {:.0f} MiB\n", machine.cpu.model, machine.cpu.cores,
             machine.cpu.isa, static_cast<double>(machine.cpu.llc_bytes) / 1024 / 1024);
  fmt::print("memory         {:.1f} GiB, {:.1f} GiB available\n", static_cast<double>(machine.memory_bytes) / kGiB,
             static_cast<double>(available_memory_bytes()) / kGiB);
  fmt::print("gpu            {}\n", machine.gpu.empty() ? "none that a driver shows" : machine.gpu);
  std::string libraries;
  for (const auto& [name, version] : machine.libraries)
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  fmt::print("libraries      {}\n", libraries);
  fmt::print("fingerprint    {} (reports with equal fingerprints have comparable times)\n", fingerprint(machine));
}

// What a machine lacks of `requirement`; empty where nothing.
std::string lack_of(const std::string& requirement, const ProviderList& providers) {
  if (requirement == "charts") {
    return reports::dashboard_charts().empty() ? std::string(reports::dashboard_charts_absent()) : "";
  }
  if (requirement == "gpu" || requirement.starts_with("gpu=")) {
    const std::string name = requirement.substr(std::min<std::size_t>(4, requirement.size()));
    const std::string gpu = read_environment().gpu;
    if (gpu.empty()) return "no driver shows a GPU";
    return gpu.find(name) == std::string::npos ? fmt::format("the GPU is {}", gpu) : "";
  }
  const auto has_name = [&](const auto& one) { return one->name() == requirement; };
  if (std::any_of(providers.begin(), providers.end(), has_name)) return "";
  for (const AbsentProvider& absent : absent_providers()) {
    if (absent.name == requirement) return absent.reason;
  }
  return "no provider of that name; gpu, gpu=NAME, charts or a provider is needed";
}

// One line for all that is missing: what a nightly job's mail shows.
void require(const std::vector<std::string>& requirements, const ProviderList& providers) {
  std::string missing;
  for (const std::string& requirement : requirements) {
    if (const std::string lack = lack_of(requirement, providers); !lack.empty()) {
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", requirement, lack);
    }
  }
  if (!missing.empty()) throw EnvironmentError("doctor: this machine lacks " + missing);
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("doctor", "What this build and machine can do, and why other things are off");
  const auto requirements = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--require", *requirements,
                   "Only say whether this is here: a provider, gpu, gpu=NAME (gpu=gfx950), charts; exit code 3 if not")
      ->delimiter(',');
  command->callback([&context, requirements] {
    if (!requirements->empty()) {
      require(*requirements, context.providers);
      fmt::print("here: {}\n", fmt::join(*requirements, ", "));
      return;
    }
    print_build();
    print_machine(read_environment());
    for (const auto& provider : context.providers) {
      fmt::print("provider       {:<8} {}\n", provider->name(), provider->description());
    }
    if (const std::string device = gpu_device(); !device.empty()) fmt::print("hip device     {}\n", device);
    for (const AbsentProvider& absent : absent_providers())
      fmt::print("provider off   {:<8} {}\n", absent.name, absent.reason);
    const std::string_view charts = reports::dashboard_charts();
    if (charts.empty()) {
      fmt::print("dashboard      tables only, no charts: {}\n", reports::dashboard_charts_absent());
    } else {
      fmt::print("dashboard      charts by {}\n", charts);
    }
    for (const BuiltinSuite& suite : builtin_suites())
      fmt::print("suite          {:<8} {}\n", suite.name, suite.description);
  });
}

}  // namespace mla::harness
