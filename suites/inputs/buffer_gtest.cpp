#include "harness/inputs/buffer.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/error.hpp"

namespace mla::harness {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr auto kGuard = static_cast<std::int64_t>(Buffer::kGuardBytes);

TEST(Arena, BuffersEndAtAPageApartAndGuarded) {
  Arena arena = Arena::create(2 * Arena::footprint(100));
  const Buffer a = arena.take("a", 100);
  const Buffer b = arena.take("b", 100);
  for (const Buffer& buffer : {a, b}) {
    EXPECT_EQ(buffer.data().size(), 100U);
    EXPECT_EQ(buffer.whole.size(), 100U + 2 * Buffer::kGuardBytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data().data());
    EXPECT_EQ(begin % Arena::kAlignment, 0U);
    EXPECT_GT((begin + 99) % 4096, 4095 - Arena::kAlignment);
  }
  EXPECT_LE(a.whole.data() + a.whole.size(), b.whole.data());
}

TEST(Arena, RefusesMoreThanItHolds) {
  Arena arena = Arena::create(Arena::footprint(100));
  static_cast<void>(arena.take("first", 100));
  EXPECT_THAT([&] { static_cast<void>(arena.take("second", 1)); },
              ThrowsMessage<EnvironmentError>(HasSubstr("`second`")));
  EXPECT_THROW(static_cast<void>(arena.take("wrapping", std::numeric_limits<std::size_t>::max())), EnvironmentError);
}

TEST(Arena, ImpossibleRequestsThrowInsteadOfReturningNothing) {
  EXPECT_THROW(static_cast<void>(Arena::create(std::numeric_limits<std::size_t>::max() / 2)), EnvironmentError);
  EXPECT_THROW(static_cast<void>(Arena::create(std::size_t{1} << 60)), EnvironmentError);
  EXPECT_THROW(static_cast<void>(Arena::map(-1, Arena::Access::shared)), EnvironmentError);
}

TEST(Arena, AnotherMappingGivesTheSameBuffers) {
  Arena arena = Arena::create(Arena::footprint(8) + Arena::footprint(5000));
  static_cast<void>(arena.take("a", 8));
  const Buffer written = arena.take("b", 5000);
  std::fill(written.data().begin(), written.data().end(), std::byte{7});

  Arena other = Arena::map(arena.descriptor(), Arena::Access::shared);
  static_cast<void>(other.take("a", 8));
  const Buffer read = other.take("b", 5000);
  EXPECT_NE(read.data().data(), written.data().data());
  EXPECT_THAT(read.data(), Each(std::byte{7}));
}

TEST(Arena, OutlivesTheOneItWasMappedFrom) {
  Arena survivor = [] {
    Arena arena = Arena::create(Arena::footprint(1));
    arena.take("a", 1).data()[0] = std::byte{9};
    return Arena::map(arena.descriptor(), Arena::Access::private_copy);
  }();
  EXPECT_EQ(survivor.take("a", 1).data()[0], std::byte{9});
}

TEST(Arena, MovingKeepsBuffersValid) {
  Arena first = Arena::create(2 * Arena::footprint(1));
  const Buffer a = first.take("a", 1);
  Arena second = std::move(first);
  a.data()[0] = std::byte{1};
  EXPECT_GT(second.take("b", 1).whole.data(), a.whole.data());
}

// The child's writes through a private mapping must reach neither the parent nor another child.
TEST(Arena, PrivateCopyIsolatesProcesses) {
  Arena arena = Arena::create(Arena::footprint(4096));
  const Buffer ours = arena.take("a", 4096);
  std::fill(ours.data().begin(), ours.data().end(), std::byte{1});

  const auto child_sees_and_scribbles = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      Arena mine = Arena::map(arena.descriptor(), Arena::Access::private_copy);
      const Buffer copy = mine.take("a", 4096);
      const bool untouched =
          std::all_of(copy.data().begin(), copy.data().end(), [](std::byte byte) { return byte == std::byte{1}; });
      std::fill(copy.whole.begin(), copy.whole.end(), std::byte{2});
      ::_exit(untouched ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(child_sees_and_scribbles(), 0);
  EXPECT_EQ(child_sees_and_scribbles(), 0) << "the second child saw what the first one wrote";
  EXPECT_THAT(ours.data(), Each(std::byte{1}));
}

TEST(Arena, UntouchedMemoryCostsNothing) {
  constexpr std::size_t kBytes = std::size_t{1} << 40;
  Arena arena = Arena::create(Arena::footprint(kBytes));
  const Buffer buffer = arena.take("huge", kBytes);
  buffer.data().back() = std::byte{1};
  arm_canary(buffer);
  struct stat status {};
  ASSERT_EQ(::fstat(arena.descriptor(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, 64 << 10);
}

TEST(Arena, DiscardedChangesAreTheFilesContentsAgain) {
  Arena arena = Arena::create(Arena::footprint(5000));
  const Buffer ours = arena.take("a", 5000);
  std::fill(ours.data().begin(), ours.data().end(), std::byte{1});
  Arena mine = Arena::map(arena.descriptor(), Arena::Access::private_copy);
  const Buffer copy = mine.take("a", 5000);
  std::fill(copy.whole.begin(), copy.whole.end(), std::byte{2});
  mine.discard_changes();
  EXPECT_THAT(copy.data(), Each(std::byte{1}));
  copy.data()[0] = std::byte{3};
  EXPECT_EQ(ours.data()[0], std::byte{1});
}

class Guard : public ::testing::Test {
 protected:
  Arena arena_ = Arena::create(2 * Arena::footprint(4096 + 128));
  Buffer first_ = arena_.take("first", 4096 + 128);
  Buffer second_ = arena_.take("second", 4096 + 128);

  // Reads the byte at `offset` from the begin of `buffer` while both are guarded.
  void read(const Buffer& buffer, std::ptrdiff_t offset) const {
    const std::array both = {&first_, &second_};
    const GuardPages guard(both);
    const volatile std::byte* const data = buffer.data().data();
    [[maybe_unused]] const std::byte byte = data[offset];
  }
};

TEST_F(Guard, LetsTheDataBeReadAndWritten) {
  const std::array both = {&first_, &second_};
  {
    const GuardPages guard(both);
    std::fill(first_.data().begin(), first_.data().end(), std::byte{5});
  }
  EXPECT_THAT(first_.data(), Each(std::byte{5}));
  arm_canary(first_);
  EXPECT_FALSE(check_canary(first_).damaged);
}

TEST_F(Guard, StopsReadsBeyondTheDataAndNamesThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(read(first_, 4096 + 128), "out of bounds: `first` accessed 0 bytes past its end");
  EXPECT_DEATH(read(second_, 4096 + 128 + 4095), "`second` accessed 4095 bytes past its end");
  EXPECT_DEATH(read(second_, -5000), "`second` accessed 5000 bytes before its begin");
}

class Canary : public ::testing::Test {
 protected:
  Arena arena_ = Arena::create(Arena::footprint(1000));
  Buffer buffer_ = arena_.take("tensor", 1000);
};

TEST_F(Canary, WritingTheDataIsNoDamage) {
  arm_canary(buffer_);
  std::fill(buffer_.data().begin(), buffer_.data().end(), std::byte{0xff});
  EXPECT_FALSE(check_canary(buffer_).damaged);
}

TEST_F(Canary, UnarmedZonesAreDamaged) {
  EXPECT_TRUE(check_canary(buffer_).damaged);
}

TEST_F(Canary, EveryByteOfBothZonesIsWatched) {
  arm_canary(buffer_);
  const auto end = std::ssize(buffer_.data());
  for (std::int64_t offset = -kGuard; offset < end + kGuard; ++offset) {
    if (offset == 0) offset = end;
    std::byte& byte = buffer_.whole[static_cast<std::size_t>(offset + kGuard)];
    byte ^= std::byte{0x10};
    const CanaryDamage damage = check_canary(buffer_);
    ASSERT_TRUE(damage.damaged) << offset;
    ASSERT_EQ(damage.offset, offset);
    byte ^= std::byte{0x10};
  }
  EXPECT_FALSE(check_canary(buffer_).damaged);
}

TEST_F(Canary, NoConstantAndNoShiftedCopyPasses) {
  const auto after = buffer_.whole.last(Buffer::kGuardBytes);
  for (int value = 0; value < 256; ++value) {
    arm_canary(buffer_);
    std::fill(after.begin(), after.begin() + 2, static_cast<std::byte>(value));
    EXPECT_TRUE(check_canary(buffer_).damaged) << value;
  }
  for (std::size_t shift = 1; shift < 64; ++shift) {
    arm_canary(buffer_);
    std::copy(after.begin() + static_cast<std::ptrdiff_t>(shift), after.end(), after.begin());
    EXPECT_TRUE(check_canary(buffer_).damaged) << shift;
  }
}

}  // namespace
}  // namespace mla::harness
