#include "harness/core/program.hpp"

#include <sys/auxv.h>

#include <system_error>

namespace mla::harness {

std::filesystem::path program_file(const std::filesystem::path& link) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  if (fs::path file = fs::read_symlink(link, unreadable); !unreadable) return file;
  return fs::absolute(reinterpret_cast<const char*>(getauxval(AT_EXECFN)));
}

}  // namespace mla::harness
