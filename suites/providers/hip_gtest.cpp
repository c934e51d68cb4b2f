// The GPU providers' own code (copies to the device and back, capture, replay) over the runtime of the host, which
// executes the same launches on the CPU.
#include "harness/providers/hip/execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/providers/hip/ceilings.hpp"
#include "harness/providers/host/provider.hpp"
#include "suites/providers/decode_case.hpp"

namespace mla::test {
namespace {

using harness::hip::Execution;
using harness::hip::Launch;
using harness::hip::Planning;

std::vector<std::byte> outputs(const DecodeFixture& fixture, Execution& execution) {
  fixture.poison();
  execution.run();
  execution.fetch();
  EXPECT_TRUE(fixture.canaries_intact());
  return fixture.output_bytes();
}

class HipExecution : public testing::TestWithParam<std::string> {};

TEST_P(HipExecution, EagerAndReplayedGiveTheBitsOfTheHostProvider) {
  const DecodeFixture fixture(GetParam());
  fixture.run(*harness::make_host_provider());
  const std::vector<std::byte> expected = fixture.output_bytes();
  Execution eager(fixture.as_case(), Launch::eager, Planning::outside);
  EXPECT_EQ(outputs(fixture, eager), expected);
  Execution graph(fixture.as_case(), Launch::graph, Planning::outside);
  EXPECT_EQ(outputs(fixture, graph), expected);
  EXPECT_EQ(outputs(fixture, graph), expected) << "again";
  EXPECT_EQ(graph.kernel().variant, "host graph");
}

TEST(HipExecutionTest, SaysInWhichStateItsTimedLaunchesFindTheCaches) {
  const DecodeFixture fixture("decode:h=1,kv=1");
  Execution execution(fixture.as_case(), Launch::eager, Planning::outside);
  ASSERT_TRUE(execution.set_cache(harness::CacheState::hot));
  EXPECT_GT(execution.timed_run(), 0);
  EXPECT_EQ(execution.cache_regime(), "hot");
  EXPECT_EQ(execution.pci_address(), "") << "the host's runtime is on no bus";
}

TEST(HipExecutionTest, RefusesTheEncodingOfAnotherTargetAndWritesNothing) {
  const DecodeFixture fixture("decode:h=16,kv=20,dtype=e4m3fnuz");
  const std::vector<std::byte> poisoned = fixture.output_bytes();
  for (const Launch launch : {Launch::eager, Launch::graph}) {
    try {
      const Execution execution(fixture.as_case(), launch, Planning::outside);
      ADD_FAILURE() << "accepted";
    } catch (const harness::EnvironmentError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("kv_dtype = e4m3fnuz: is not the fp8 encoding of this target"));
    }
  }
  EXPECT_EQ(fixture.output_bytes(), poisoned);
}

INSTANTIATE_TEST_SUITE_P(Words, HipExecution,
                         testing::Values("decode:h=16,b=2,kv=100", "decode:h=16,kv=600",
                                         "decode:h=3,b=4,q=1+2+0+2,kv=50+0+31+1,stride=padded,dtype=fp8"));

// On the host the rates mean nothing; that every launch is made and counted does.
TEST(HipCeilings, EachHasAValueAUnitAndANote) {
  const std::vector<harness::Ceiling> ceilings =
      harness::hip::measure_ceilings({.seconds = 0, .bytes = 1 << 16, .steps = 2, .units = 1});
  std::vector<std::string> names;
  for (const harness::Ceiling& ceiling : ceilings) {
    names.push_back(ceiling.name);
    EXPECT_EQ(ceiling.device, "gpu");
    EXPECT_GT(ceiling.value.value_or(0), 0) << ceiling.name;
    EXPECT_FALSE(ceiling.note.empty());
    EXPECT_EQ(ceiling.unit, ceiling.name.starts_with("memory")   ? "GB/s"
                            : ceiling.name.starts_with("matmul") ? "GFLOP/s"
                                                                 : "ns");
  }
  EXPECT_THAT(names, testing::ElementsAre("memory_read", "memory_copy", "matmul_bf16", "matmul_fp8", "launch_eager",
                                          "launch_graph"));
}

}  // namespace
}  // namespace mla::test
