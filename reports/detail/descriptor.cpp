#include "reports/detail/descriptor.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/error.hpp"

namespace mla::reports::detail {

Descriptor::Descriptor(const std::filesystem::path& path, int flags) : path_(path) {
  descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Descriptor::fail(int code) const {
  throw ReportError(fmt::format("{}: {}", path_.string(), std::generic_category().message(code)));
}

void Descriptor::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;  // Ctrl-C during a write must not cut the line
      fail(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Descriptor::sync() {
  // EINVAL: /dev/null and pipes cannot be synced, and need not be.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
}

bool Descriptor::lock() {
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno == ENOLCK || errno == ENOTSUP || errno == ENOSYS) return true;  // a file system without locks
    if (errno != EINTR) fail(errno);
  }
  return true;
}

void Descriptor::truncate(std::uint64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail(errno);
}

void Descriptor::seek_end() {
  if (::lseek(descriptor_, 0, SEEK_END) < 0) fail(errno);
}

}  // namespace mla::reports::detail
