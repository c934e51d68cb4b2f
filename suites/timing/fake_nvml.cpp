// Stands in for NVIDIA's management library: the few symbols that are used, with the types of nvml.h, and one device.
#include <cstring>

namespace {
int the_device = 0;
constexpr int kNotFound = 6;
}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  *device = &the_device;
  return std::strcmp(address, "0000:c1:00.0") == 0 ? 0 : kNotFound;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1755 : type == 2 ? 3201 : 0;
  return device == &the_device ? 0 : kNotFound;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatt) {
  *milliwatt = 698250;
  return device == &the_device ? 0 : kNotFound;
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  *celsius = 61;
  return device == &the_device && sensor == 0 ? 0 : kNotFound;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x40 | 0x100;  // idle, power cap, thermal slowdown, display
  return device == &the_device ? 0 : kNotFound;
}
}
