#include "harness/timing/ceilings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mla::harness {
namespace {

TEST(Ceilings, EachHasNameUnitAndEitherAPlausibleValueOrANote) {
  const std::vector<Ceiling> ceilings = measure_ceilings({.seconds = 0.02, .bf16_matmul = {}, .bf16_device = "cpu"});
  std::vector<std::string> names;
  for (const Ceiling& ceiling : ceilings) {
    names.push_back(ceiling.name);
    EXPECT_EQ(ceiling.unit, ceiling.name == "memory_read" ? "GB/s" : ceiling.name == "launch_pool" ? "ns" : "GFLOP/s");
    EXPECT_FALSE(ceiling.note.empty());
    if (!ceiling.value) continue;
    // From the slowest emulator to a machine of thousands of cores; outside, a unit is wrong.
    EXPECT_GT(*ceiling.value, 1e-3) << ceiling.name;
    EXPECT_LT(*ceiling.value, ceiling.unit == "ns" ? 1e9 : 1e6) << ceiling.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("memory_read", "fma_f32", "matmul_f32", "matmul_bf16", "launch_pool"));
}

TEST(Ceilings, Bf16IsWhatTheCallableSays) {
  double seconds = 0;
  const auto measure = [&](double given) {
    seconds = given;
    return 123.0;
  };
  const Ceiling ceiling = bf16_matmul_ceiling({.seconds = 0.25, .bf16_matmul = measure, .bf16_device = "gpu"});
  EXPECT_EQ(ceiling.value, 123.0);
  EXPECT_EQ(ceiling.device, "gpu");
  EXPECT_EQ(seconds, 0.25);
}

TEST(Ceilings, Bf16IsAbsentWithoutACallableOrAResult) {
  EXPECT_FALSE(bf16_matmul_ceiling({.bf16_matmul = {}, .bf16_device = "cpu"}).value);
  EXPECT_FALSE(bf16_matmul_ceiling({.bf16_matmul = [](double) { return 0.0; }, .bf16_device = "cpu"}).value);
}

TEST(Ceilings, Bf16IsAbsentBelowThePlausibleAndTheNoteGivesTheRate) {
  const CeilingConfig config{.bf16_matmul = [](double) { return 0.93; }, .bf16_device = "cpu"};
  const Ceiling ceiling = bf16_matmul_ceiling(config, 10);
  EXPECT_FALSE(ceiling.value);
  EXPECT_THAT(ceiling.note, testing::HasSubstr("0.93 GFLOP/s"));
  EXPECT_TRUE(bf16_matmul_ceiling(config, 0.5).value);
}

}  // namespace
}  // namespace mla::harness
