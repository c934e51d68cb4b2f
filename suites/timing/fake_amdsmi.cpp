// Stands in for AMD's management library: the few symbols that are used, with the types of amdsmi.h, and one device.
#include <cstdint>

namespace {
int the_device = 0;
constexpr int kNotFound = 31;
constexpr std::uint64_t kAddress = 0xc1U << 8U;  // 0000:c1:00.0

// amdsmi_clk_info_t and amdsmi_power_info_t
struct Clock {
  std::uint32_t clk, min_clk, max_clk;
  std::uint8_t clk_locked, clk_deep_sleep;
  std::uint32_t reserved[4];
};
struct Power {
  std::uint64_t socket_power;
  std::uint32_t current_socket_power, average_socket_power;
  std::uint64_t gfx_voltage, soc_voltage, mem_voltage;
  std::uint32_t power_limit;
  std::uint64_t reserved[18];
};
}  // namespace

extern "C" {

int amdsmi_init(std::uint64_t) {
  return 0;
}

int amdsmi_get_processor_handle_from_bdf(std::uint64_t address, void** device) {
  *device = &the_device;
  return address == kAddress ? 0 : kNotFound;
}

int amdsmi_get_clock_info(void* device, int type, Clock* clock) {
  *clock = {};
  clock->clk = type == 0 ? 2100 : UINT32_MAX;
  return device == &the_device ? 0 : kNotFound;
}

int amdsmi_get_power_info(void* device, Power* power) {
  *power = {};
  power->socket_power = 750;
  power->average_socket_power = UINT32_MAX;
  return device == &the_device ? 0 : kNotFound;
}

int amdsmi_get_temp_metric(void* device, int sensor, int metric, std::int64_t* celsius) {
  *celsius = 55;
  return device == &the_device && sensor == 1 && metric == 0 ? 0 : kNotFound;
}
}
