// A file that exists as long as the object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace mla::harness {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content, const std::string& suffix = ".json") {
    std::string name = (std::filesystem::temp_directory_path() / "mla-suite-XXXXXX").string() + suffix;
    const int descriptor = mkstemps(name.data(), static_cast<int>(suffix.size()));
    if (descriptor >= 0) close(descriptor);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mla::harness
