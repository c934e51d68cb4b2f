#include "harness/inputs/rotation.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mla::harness {
namespace {

/// Device and inode of the file, and the offset in it, behind an address: names the physical memory of a shared
/// mapping.
std::string memory_behind(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uintptr_t offset = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %lu", &begin, &end, &offset, &inode) != 4) continue;
    if (begin <= wanted && wanted < end) return std::to_string(inode) + "+" + std::to_string(offset + wanted - begin);
  }
  return "";
}

struct Fixture {
  Arena arena = Arena::create(3 * Arena::footprint(10000));
  Buffer before = arena.take("before", 10000);
  Buffer buffer = arena.take("kv", 10000);
  Buffer after = arena.take("after", 10000);

  Fixture() {
    for (const Buffer* each : {&before, &buffer, &after}) arm_canary(*each);
    for (std::size_t i = 0; i < buffer.data().size(); ++i) buffer.data()[i] = std::byte(i * 7);
  }
};

TEST(Rotation, EachTurnGoesThroughOtherMemoryWithTheSameContents) {
  const Fixture fixture;
  const std::vector<std::byte> contents(fixture.buffer.data().begin(), fixture.buffer.data().end());
  Rotation rotation(fixture.buffer, 80000, 1 << 30);
  EXPECT_GE(rotation.bytes(), 80000);
  EXPECT_LT(rotation.bytes(), 80000 + static_cast<std::int64_t>(Arena::footprint(10000)));
  std::set<std::string> places;
  for (std::int64_t i = 0; i < rotation.copies(); ++i) {
    rotation.advance();
    places.insert(memory_behind(fixture.buffer.data().data()));
    EXPECT_TRUE(std::equal(contents.begin(), contents.end(), fixture.buffer.data().begin()));
    for (const Buffer* each : {&fixture.before, &fixture.buffer, &fixture.after}) {
      EXPECT_FALSE(check_canary(*each).damaged) << each->name;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(places.size()), rotation.copies());
  rotation.advance();
  EXPECT_EQ(places.count(memory_behind(fixture.buffer.data().data())), 1U) << "a new turn uses the same copies";
}

TEST(Rotation, NothingMovesWhereTheBufferAloneIsATurnOrMemoryIsShort) {
  const Fixture fixture;
  const std::string place = memory_behind(fixture.buffer.data().data());
  for (const auto& [turn, most] : {std::pair<int, int>{9000, 1 << 30}, {80000, 30000}}) {
    Rotation rotation(fixture.buffer, turn, most);
    EXPECT_EQ(rotation.copies(), 1);
    rotation.advance();
    EXPECT_EQ(memory_behind(fixture.buffer.data().data()), place);
  }
}

}  // namespace
}  // namespace mla::harness
