// Where the running program lies: what comes with it is found beside it.
#pragma once

#include <filesystem>

namespace mla::harness {

/// Absolute path of the running program's file: what the kernel's `link` names. Where that cannot be read (a container
/// or chroot without /proc), the path that the program was started by, which is right until the program changes its
/// working directory.
[[nodiscard]] std::filesystem::path program_file(const std::filesystem::path& link = "/proc/self/exe");

}  // namespace mla::harness
