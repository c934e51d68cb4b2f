#include "harness/inputs/buffer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// A page for the guard zone before the data, the pages of the data, and a page for the zone after them.
std::size_t Arena::footprint(std::size_t bytes) {
  return round_up_to_page(bytes) + 2 * kPageBytes;
}

Buffer Arena::take(std::string name, std::size_t bytes) {
  static_assert(Buffer::kGuardBytes == kPageBytes);
  const std::size_t needed = footprint(bytes);
  if (needed < bytes || needed > memory_.size() - used_) {
    throw EnvironmentError(fmt::format("buffer `{}` of {} bytes does not fit into the {} bytes left of {}", name, bytes,
                                       memory_.size() - used_, memory_.size()));
  }
  // Data as near to the end of their last page as their alignment allows, so that the next page can be a guard.
  const std::size_t slack = round_up_to_page(bytes) - bytes;
  const std::size_t before = slack / kAlignment * kAlignment;
  const auto whole = memory_.subspan(used_ + before, bytes + 2 * Buffer::kGuardBytes);
  used_ += needed;
  return {std::move(name), whole};
}

void Arena::discard_changes() {
  if (::madvise(memory_.data(), memory_.size(), MADV_DONTNEED) != 0) fail("discard changes of", memory_.size());
}

namespace {

// What the signal handler knows: it can be given nothing but globals. Written only while no guard is up.
struct GuardedZone {
  const std::byte* begin = nullptr;
  const std::byte* data_begin = nullptr;
  const std::byte* data_end = nullptr;
  std::array<char, 32> name{};
};
constexpr std::size_t kMostZones = 32;
std::array<GuardedZone, kMostZones> guarded_zones;
std::size_t guarded_count = 0;

void write_text(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void write_number(std::ptrdiff_t number) {
  std::array<char, 24> text{};
  std::size_t at = text.size() - 1;
  do {
    text[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  write_text(text.data() + at);
}

// Only what a signal handler may do: no allocation, no stdio.
void report_guard_fault(int signal_number, siginfo_t* info, void*) {
  const auto* const address = static_cast<const std::byte*>(info->si_addr);
  for (std::size_t i = 0; i < guarded_count; ++i) {
    const GuardedZone& zone = guarded_zones[i];
    if (address < zone.begin || address >= zone.begin + kPageBytes) continue;
    const bool after = address >= zone.data_end;
    write_text("out of bounds: `");
    write_text(zone.name.data());
    write_text("` accessed ");
    write_number(after ? address - zone.data_end : zone.data_begin - address);
    write_text(after ? " bytes past its end\n" : " bytes before its begin\n");
  }
  // Back to the default, which the same access then meets.
  ::signal(signal_number, SIG_DFL);
}

}  // namespace

GuardPages::GuardPages(std::span<const Buffer* const> buffers) {
  const auto protect = [this](const Buffer& buffer, std::byte* page) {
    if (guarded_count == kMostZones) throw EnvironmentError("too many buffers to guard");
    GuardedZone& zone = guarded_zones[guarded_count];
    zone = {page, buffer.data().data(), buffer.data().data() + buffer.data().size(), {}};
    buffer.name.copy(zone.name.data(), zone.name.size() - 1);
    if (::mprotect(page, kPageBytes, PROT_NONE) != 0) fail("guard", kPageBytes);
    ++guarded_count;
    pages_.emplace_back(page, kPageBytes);
  };
  for (const Buffer* buffer : buffers) {
    // The footprint of the buffer begins with a page and ends with one.
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer->whole.data()) / kPageBytes * kPageBytes;
    protect(*buffer, buffer->whole.data() - (reinterpret_cast<std::uintptr_t>(buffer->whole.data()) - begin));
    const std::span<std::byte> data = buffer->data();
    const auto end = reinterpret_cast<std::uintptr_t>(data.data() + data.size());
    protect(*buffer, data.data() + data.size() + (round_up_to_page(end) - end));
  }
  struct sigaction action {};
  action.sa_sigaction = report_guard_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

GuardPages::~GuardPages() {
  for (const auto& page : pages_) ::mprotect(page.data(), page.size(), PROT_READ | PROT_WRITE);
  guarded_count = 0;
  ::signal(SIGSEGV, SIG_DFL);
  ::signal(SIGBUS, SIG_DFL);
}

}  // namespace mla::harness
