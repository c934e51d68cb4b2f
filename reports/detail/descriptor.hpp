// A POSIX file descriptor that closes itself and turns every failure into one line with the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace mla::reports::detail {

class Descriptor {
 public:
  /// Opens with O_CLOEXEC and mode 0666 (less the umask). Throws ReportError.
  Descriptor(const std::filesystem::path& path, int flags);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  /// Writes all of `bytes`, unbuffered.
  void write(std::string_view bytes);
  /// Returns when the contents are on disk.
  void sync();
  /// Takes the file's exclusive lock; false where another process holds it.
  [[nodiscard]] bool lock();
  void truncate(std::uint64_t bytes);
  void seek_end();

 private:
  [[noreturn]] void fail(int code) const;

  int descriptor_ = -1;
  std::filesystem::path path_;
};

}  // namespace mla::reports::detail
