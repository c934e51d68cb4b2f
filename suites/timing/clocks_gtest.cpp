// Clocks, power and temperature from management libraries that stand in for the drivers' own, and from a folder laid
// out like the kernel's.
#include "harness/timing/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace mla::harness {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr const char* kAddress = "0000:c1:00.0";  // the one that the libraries have

TEST(Clocks, OfAnNvidiaGpuAreWhatItsLibraryTells) {
  const auto source = open_clocks(kAddress, {.nvml = MLA_FAKE_NVML});
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->name(), "nvml");
  const ClockReading reading = source->read();
  EXPECT_THAT(reading.sm_mhz, Optional(1755.0));
  EXPECT_THAT(reading.memory_mhz, Optional(3201.0));
  EXPECT_EQ(reading.cpu_mhz, std::nullopt);
  EXPECT_THAT(reading.power_w, Optional(698.25));
  EXPECT_THAT(reading.temperature_c, Optional(61.0));
  ASSERT_TRUE(reading.throttle.has_value());
  EXPECT_THAT(*reading.throttle, ElementsAre("power_cap", "hw_thermal"));
}

TEST(Clocks, OfAnAmdGpuAreWhatItsLibraryTells) {
  const auto source = open_clocks(kAddress, {.nvml = "no such library", .amdsmi = MLA_FAKE_AMDSMI});
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->name(), "amdsmi");
  const ClockReading reading = source->read();
  EXPECT_THAT(reading.sm_mhz, Optional(2100.0));
  EXPECT_EQ(reading.memory_mhz, std::nullopt) << "the library says that it does not know";
  EXPECT_THAT(reading.power_w, Optional(750.0));
  EXPECT_THAT(reading.temperature_c, Optional(55.0));
  EXPECT_EQ(reading.throttle, std::nullopt);
}

TEST(Clocks, AreAbsentWhereNobodyTells) {
  const ClockPlaces nowhere{.nvml = "no such library", .amdsmi = "nor this", .cpus = "/nonexistent"};
  EXPECT_EQ(open_clocks(kAddress, nowhere), nullptr);
  EXPECT_EQ(open_clocks("", nowhere), nullptr);
  EXPECT_EQ(open_clocks("0000:01:00.0", {.nvml = MLA_FAKE_NVML, .amdsmi = MLA_FAKE_AMDSMI}), nullptr)
      << "another device's clocks are not this one's";
}

/// A folder like /sys/devices/system/cpu, with every processor that this process may use.
class CpuFolder {
 public:
  CpuFolder() : path_(fs::temp_directory_path() / ("mla-clocks-" + std::to_string(::getpid()))) {}
  ~CpuFolder() { fs::remove_all(path_); }

  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(const std::string& file, int value) const {
    for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
      const fs::path whole = path_ / ("cpu" + std::to_string(cpu)) / file;
      fs::create_directories(whole.parent_path());
      std::ofstream(whole) << value << '\n';
    }
  }

 private:
  fs::path path_;
};

TEST(Clocks, OfProcessorsComeFromTheKernelAndThrottlingFromItsCounters) {
  const CpuFolder folder;
  folder.write("cpufreq/scaling_cur_freq", 3'400'000);
  folder.write("thermal_throttle/core_throttle_count", 7);
  const auto source = open_clocks("", {.cpus = folder.path()});
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->name(), "cpufreq");
  ClockReading reading = source->read();
  EXPECT_THAT(reading.cpu_mhz, Optional(3400.0));
  EXPECT_THAT(reading.throttle, Optional(IsEmpty())) << "events of before the measurement";
  folder.write("thermal_throttle/core_throttle_count", 8);
  reading = source->read();
  EXPECT_THAT(reading.throttle, Optional(ElementsAre("thermal")));
  EXPECT_THAT(source->read().throttle, Optional(IsEmpty()));
}

}  // namespace
}  // namespace mla::harness
