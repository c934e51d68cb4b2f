#include "harness/inputs/buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t round_up_to_page(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Pseudo-random by offset: a copy of the zone that lands shifted, or a fill with any constant, is noticed. A constant
// pattern would survive both.
std::byte canary_byte(std::size_t offset) {
  std::uint32_t mixed = (static_cast<std::uint32_t>(offset) + 1U) * 0x9e3779b1U;
  mixed = (mixed ^ (mixed >> 15)) * 0x2c1b3c6dU;
  return static_cast<std::byte>(mixed >> 24);
}

[[noreturn]] void fail(std::string_view what, std::size_t bytes) {
  throw EnvironmentError(fmt::format("cannot {} {} bytes of shared memory: {}", what, bytes, std::strerror(errno)));
}

std::span<std::byte> map_memory(int descriptor, std::size_t bytes, int sharing) {
  // Without MAP_NORESERVE a sparse pool larger than the machine's memory would be refused although it is never filled.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    fail("map", bytes);
  }
  return {static_cast<std::byte*>(memory), bytes};
}

}  // namespace

void arm_canary(const Buffer& buffer) {
  const std::size_t end = buffer.whole.size();
  for (std::size_t i = 0; i < Buffer::kGuardBytes; ++i) buffer.whole[i] = canary_byte(i);
  for (std::size_t i = end - Buffer::kGuardBytes; i < end; ++i) buffer.whole[i] = canary_byte(i);
}

CanaryDamage check_canary(const Buffer& buffer) {
  const std::size_t end = buffer.whole.size();
  const auto damage_in = [&](std::size_t first, std::size_t last) -> CanaryDamage {
    for (std::size_t i = first; i < last; ++i) {
      if (buffer.whole[i] != canary_byte(i)) {
        return {true, static_cast<std::int64_t>(i) - static_cast<std::int64_t>(Buffer::kGuardBytes)};
      }
    }
    return {};
  };
  const CanaryDamage before = damage_in(0, Buffer::kGuardBytes);
  return before.damaged ? before : damage_in(end - Buffer::kGuardBytes, end);
}

Arena Arena::create(std::size_t bytes) {
  // An empty file cannot be mapped, and an arena for a problem without tokens is still an arena.
  const std::size_t size = std::max(round_up_to_page(bytes), kPageBytes);
  const int descriptor = ::memfd_create("mla-harness", MFD_CLOEXEC);
  if (descriptor < 0) fail("create", size);
  if (!std::in_range<off_t>(size) || ::ftruncate(descriptor, static_cast<off_t>(size)) != 0) {
    const int reason = std::in_range<off_t>(size) ? errno : EFBIG;
    ::close(descriptor);
    errno = reason;
    fail("reserve", size);
  }
  return {descriptor, map_memory(descriptor, size, MAP_SHARED)};
}

Arena Arena::map(int descriptor, Access access) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail("inspect", 0);
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) fail("share", static_cast<std::size_t>(status.st_size));
  const int sharing = access == Access::shared ? MAP_SHARED : MAP_PRIVATE;
  return {own, map_memory(own, static_cast<std::size_t>(status.st_size), sharing)};
}

Arena::Arena(Arena&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, {})),
      used_(std::exchange(other.used_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    release();
    descriptor_ = std::exchange(other.descriptor_, -1);
    memory_ = std::exchange(other.memory_, {});
    used_ = std::exchange(other.used_, 0);
  }
  return *this;
}

Arena::~Arena() {
  release();
}

void Arena::release() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t Arena::footprint(std::size_t bytes) {
  return round_up_to_page(bytes + 2 * Buffer::kGuardBytes);
}

Buffer Arena::take(std::string name, std::size_t bytes) {
  const std::size_t needed = footprint(bytes);
  if (needed < bytes || needed > memory_.size() - used_) {
    throw EnvironmentError(fmt::format("buffer `{}` of {} bytes does not fit into the {} bytes left of {}", name, bytes,
                                       memory_.size() - used_, memory_.size()));
  }
  const auto whole = memory_.subspan(used_, bytes + 2 * Buffer::kGuardBytes);
  used_ += needed;
  return {std::move(name), whole};
}

}  // namespace mla::harness
