#include "harness/timing/clocks.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace mla::harness {

namespace {

// A shared library opened by name for as long as this lives.
class Library {
 public:
  explicit Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  Library& operator=(Library&&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  /// Null where the library or the symbol is absent.
  template <class Function>
  [[nodiscard]] Function* find(const char* symbol) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;
};

// Calls `function`, which may be absent, with `arguments` and a place for its answer; both libraries return 0 for
// success. `Answer` is what the library writes.
template <class Answer, class Function, class... Arguments>
std::optional<Answer> ask(Function* function, Arguments... arguments) {
  Answer answer{};
  if (function == nullptr || function(arguments..., &answer) != 0) return std::nullopt;
  return answer;
}

template <class Value>
std::optional<double> scaled(const std::optional<Value>& value, double factor = 1) {
  return value ? std::optional(static_cast<double>(*value) * factor) : std::nullopt;
}

// --- NVIDIA: signatures and numbers of nvml.h, https://docs.nvidia.com/deploy/nvml-api
// ---------------------------------

class Nvml final : public ClockSource {
 public:
  static std::unique_ptr<ClockSource> open(const std::string& library_name, const std::string& pci_address) {
    auto source = std::unique_ptr<Nvml>(new Nvml(Library(library_name)));
    const auto init = source->library_.find<int()>("nvmlInit_v2");
    const auto find_device = source->library_.find<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || init() != 0) return nullptr;
    const auto device = ask<void*>(find_device, pci_address.c_str());
    if (!device) return nullptr;
    source->device_ = *device;
    return source;
  }

  [[nodiscard]] std::string_view name() const override { return "nvml"; }

  [[nodiscard]] ClockReading read() override {
    constexpr int kSmClock = 1;
    constexpr int kMemoryClock = 2;
    constexpr int kDieTemperature = 0;
    ClockReading reading;
    reading.sm_mhz = scaled(ask<unsigned>(clock_, device_, kSmClock));
    reading.memory_mhz = scaled(ask<unsigned>(clock_, device_, kMemoryClock));
    reading.power_w = scaled(ask<unsigned>(power_, device_), 1e-3);
    reading.temperature_c = scaled(ask<unsigned>(temperature_, device_, kDieTemperature));
    if (const auto bits = ask<unsigned long long>(throttle_, device_)) reading.throttle = names_of(*bits);
    return reading;
  }

 private:
  explicit Nvml(Library library)
      : library_(std::move(library)),
        clock_(library_.find<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo")),
        power_(library_.find<int(void*, unsigned*)>("nvmlDeviceGetPowerUsage")),
        temperature_(library_.find<int(void*, int, unsigned*)>("nvmlDeviceGetTemperature")),
        throttle_(library_.find<int(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons")) {}

  // Reasons that hold an active clock down; idleness (bit 0) and display settings do not.
  static std::vector<std::string> names_of(unsigned long long bits) {
    static constexpr std::array<std::pair<unsigned, const char*>, 7> kReasons = {{{0x02, "application_clocks"},
                                                                                  {0x04, "power_cap"},
                                                                                  {0x08, "hw_slowdown"},
                                                                                  {0x10, "sync_boost"},
                                                                                  {0x20, "sw_thermal"},
                                                                                  {0x40, "hw_thermal"},
                                                                                  {0x80, "power_brake"}}};
    std::vector<std::string> names;
    for (const auto& [bit, reason] : kReasons) {
      if ((bits & bit) != 0) names.emplace_back(reason);
    }
    return names;
  }

  Library library_;
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*);
  int (*power_)(void*, unsigned*);
  int (*temperature_)(void*, int, unsigned*);
  int (*throttle_)(void*, unsigned long long*);
};

// --- AMD: amdsmi.h, https://rocm.docs.amd.com/projects/amdsmi
// ----------------------------------------------------------

class AmdSmi final : public ClockSource {
 public:
  static std::unique_ptr<ClockSource> open(const std::string& library_name, const std::string& pci_address) {
    constexpr std::uint64_t kGpus = 1U << 1U;
    auto source = std::unique_ptr<AmdSmi>(new AmdSmi(Library(library_name)));
    const auto init = source->library_.find<int(std::uint64_t)>("amdsmi_init");
    const auto find_device = source->library_.find<int(std::uint64_t, void**)>("amdsmi_get_processor_handle_from_bdf");
    if (init == nullptr || init(kGpus) != 0) return nullptr;
    const auto device = ask<void*>(find_device, bits_of(pci_address));
    if (!device) return nullptr;
    source->device_ = *device;
    return source;
  }

  [[nodiscard]] std::string_view name() const override { return "amdsmi"; }

  // Throttling is in structures that change with every release: not asked for.
  [[nodiscard]] ClockReading read() override {
    constexpr int kGraphicsClock = 0;
    constexpr int kMemoryClock = 4;
    constexpr int kHotspot = 1;
    constexpr int kCurrent = 0;
    ClockReading reading;
    reading.sm_mhz = first_member(ask<Structure>(clock_, device_, kGraphicsClock));
    reading.memory_mhz = first_member(ask<Structure>(clock_, device_, kMemoryClock));
    reading.power_w = first_member(ask<Structure>(power_, device_));
    reading.temperature_c = scaled(ask<std::int64_t>(temperature_, device_, kHotspot, kCurrent));
    return reading;
  }

 private:
  // The answers are structures that grew from release to release. Only their first 32 bits are used, which have meant
  // the same since ROCm 6.0: amdsmi_clk_info_t begins with the clock in MHz; amdsmi_power_info_t with the socket's
  // power in W, as 32 bits and later as the low half of 64. All bits set: not told.
  struct Structure {
    std::array<std::uint32_t, 256> words;
  };

  explicit AmdSmi(Library library)
      : library_(std::move(library)),
        clock_(library_.find<int(void*, int, Structure*)>("amdsmi_get_clock_info")),
        power_(library_.find<int(void*, Structure*)>("amdsmi_get_power_info")),
        temperature_(library_.find<int(void*, int, int, std::int64_t*)>("amdsmi_get_temp_metric")) {}

  static std::optional<double> first_member(const std::optional<Structure>& answer) {
    constexpr std::uint32_t kNotTold = std::numeric_limits<std::uint32_t>::max();
    constexpr std::uint32_t kNotTold16 = std::numeric_limits<std::uint16_t>::max();
    if (!answer || answer->words[0] == kNotTold || answer->words[0] == kNotTold16) return std::nullopt;
    return answer->words[0];
  }

  // amdsmi_bdf_t: function in 3 bits, device in 5, bus in 8, domain in 48, from the lowest on. All set: no such device.
  static std::uint64_t bits_of(const std::string& pci_address) {
    std::uint64_t domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned function = 0;
    if (std::sscanf(pci_address.c_str(), "%lx:%x:%x.%x", &domain, &bus, &device, &function) != 4) return ~0ULL;
    return domain << 16U | (bus & 0xffU) << 8U | (device & 0x1fU) << 3U | (function & 0x7U);
  }

  Library library_;
  void* device_ = nullptr;
  int (*clock_)(void*, int, Structure*);
  int (*power_)(void*, Structure*);
  int (*temperature_)(void*, int, int, std::int64_t*);
};

// --- CPU: https://docs.kernel.org/admin-guide/pm/cpufreq.html
// ----------------------------------------------------------

std::optional<double> number_in(const std::filesystem::path& file) {
  double value = 0;
  std::ifstream stream(file);
  return stream >> value ? std::optional(value) : std::nullopt;
}

class CpuFreq final : public ClockSource {
 public:
  static std::unique_ptr<ClockSource> open(const std::filesystem::path& cpus) {
    auto source = std::unique_ptr<CpuFreq>(new CpuFreq);
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return nullptr;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &usable)) continue;
      const std::filesystem::path folder = cpus / fmt::format("cpu{}", cpu);
      if (number_in(folder / kFrequency)) source->folders_.push_back(folder);
    }
    if (source->folders_.empty()) return nullptr;
    source->throttled_ = source->throttle_events();
    return source;
  }

  [[nodiscard]] std::string_view name() const override { return "cpufreq"; }

  [[nodiscard]] ClockReading read() override {
    std::vector<double> khz;
    for (const auto& folder : folders_) {
      if (const auto value = number_in(folder / kFrequency)) khz.push_back(*value);
    }
    ClockReading reading;
    if (!khz.empty()) {
      const auto middle = khz.begin() + static_cast<std::ptrdiff_t>(khz.size() / 2);
      std::nth_element(khz.begin(), middle, khz.end());
      reading.cpu_mhz = *middle / 1e3;
    }
    // The kernel counts events: one since the last reading means that the time between was slowed down.
    const std::optional<double> events = throttle_events();
    if (events) {
      reading.throttle.emplace();
      if (events > throttled_) reading.throttle->emplace_back("thermal");
    }
    throttled_ = events;
    return reading;
  }

 private:
  CpuFreq() = default;

  static constexpr const char* kFrequency = "cpufreq/scaling_cur_freq";  // kHz

  [[nodiscard]] std::optional<double> throttle_events() const {
    std::optional<double> events;
    for (const auto& folder : folders_) {
      for (const char* counter : {"core_throttle_count", "package_throttle_count"}) {
        if (const auto count = number_in(folder / "thermal_throttle" / counter)) events = events.value_or(0) + *count;
      }
    }
    return events;
  }

  std::vector<std::filesystem::path> folders_;
  std::optional<double> throttled_;
};

}  // namespace

std::unique_ptr<ClockSource> open_clocks(const std::string& pci_address, const ClockPlaces& places) {
  if (pci_address.empty()) return CpuFreq::open(places.cpus);
  if (auto nvml = Nvml::open(places.nvml, pci_address)) return nvml;
  return AmdSmi::open(places.amdsmi, pci_address);
}

}  // namespace mla::harness
