#include "harness/inputs/rotation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

constexpr std::size_t kPageBytes = 4096;

// The footprint that the arena gave the buffer: its guard zones share the first and the last page with nobody.
std::span<std::byte> pages_of(const Buffer& buffer) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.whole.data());
  const std::size_t before = begin % kPageBytes;
  const std::size_t bytes = (before + buffer.whole.size() + kPageBytes - 1) / kPageBytes * kPageBytes;
  return {buffer.whole.data() - before, bytes};
}

[[noreturn]] void fail(std::int64_t bytes) {
  throw EnvironmentError(fmt::format("cannot rotate over {} bytes: {}", bytes, std::strerror(errno)));
}

}  // namespace

Rotation::Rotation(const Buffer& buffer, std::int64_t turn_bytes, std::int64_t most_bytes) : pages_(pages_of(buffer)) {
  const auto size = static_cast<std::int64_t>(pages_.size());
  const std::int64_t wanted = (turn_bytes + size - 1) / size;
  copies_ = std::max<std::int64_t>(1, std::min(wanted, most_bytes / size));
  if (copies_ == 1) return;
  descriptor_ = ::memfd_create("mla-rotation", MFD_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, bytes()) != 0) fail(bytes());
  for (std::int64_t copy = 0; copy < copies_; ++copy) {
    for (std::size_t done = 0; done < pages_.size();) {
      const ssize_t written = ::pwrite(descriptor_, pages_.data() + done, pages_.size() - done,
                                       copy * size + static_cast<std::int64_t>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(bytes());
      done += static_cast<std::size_t>(written);
    }
  }
}

Rotation::~Rotation() {
  // The address keeps the copy that is there, whose contents are the same.
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Rotation::advance() {
  if (copies_ == 1) return;
  current_ = (current_ + 1) % copies_;
  const void* at = ::mmap(pages_.data(), pages_.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                          descriptor_, current_ * static_cast<std::int64_t>(pages_.size()));
  if (at == MAP_FAILED) fail(bytes());
}

}  // namespace mla::harness
