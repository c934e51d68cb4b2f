// What the driver tells of a device around a measurement: clocks, power, temperature, and what holds the clock down.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mla::harness {

/// One moment; what the driver does not tell is absent.
struct ClockReading {
  std::optional<double> sm_mhz;  // of a GPU's compute units
  std::optional<double> memory_mhz;
  std::optional<double> cpu_mhz;  // median of the processors that this process may use
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<std::vector<std::string>> throttle;  // reasons, empty where nothing holds the clock down
};

/// A driver's answers for one device.
class ClockSource {
 public:
  virtual ~ClockSource() = default;
  /// "nvml", "amdsmi" or "cpufreq".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual ClockReading read() = 0;
};

/// Where to ask. The management libraries belong to the driver, so they are opened at run time and may be absent.
struct ClockPlaces {
  std::string nvml = "libnvidia-ml.so.1";
  std::string amdsmi = "libamd_smi.so";
  std::filesystem::path cpus = "/sys/devices/system/cpu";
};

/// The source for the GPU at `pci_address` ("0000:c1:00.0"), or for the processors where that is empty; null where
/// nobody tells: no library, no such device, a virtual machine without cpufreq.
[[nodiscard]] std::unique_ptr<ClockSource> open_clocks(const std::string& pci_address, const ClockPlaces& places = {});

}  // namespace mla::harness
