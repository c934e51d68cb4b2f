#include "harness/runner/environment.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "suites/support/command.hpp"

namespace mla::harness {
namespace {

TEST(Environment, AvailableMemoryIsWhatTheSystemsFileSays) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("meminfo")) << "MemTotal:       2048 kB\nMemAvailable:    1024 kB\n";
  EXPECT_EQ(available_memory_bytes(folder.file("meminfo")), 1 << 20);
}

// As in a chroot without /proc: 0 would have every case skipped.
TEST(Environment, AvailableMemoryIsKnownWithoutTheSystemsFile) {
  const std::int64_t available = available_memory_bytes("/no/such/meminfo");
  EXPECT_GT(available, 0);
  EXPECT_LT(available, read_environment().memory_bytes);
}

}  // namespace
}  // namespace mla::harness
