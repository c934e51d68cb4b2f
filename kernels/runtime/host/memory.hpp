// The global memory that a launch on the host may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mla::host {

/// An access outside of the memory that a launch was given, or a lane that waits for ever. One line that says where.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The buffers of a launch, by name. Without any buffer, nothing is checked.
class Memory {
 public:
  enum class Access : std::uint8_t { read, write };  // write: also read

  void add(std::string name, const void* data, std::size_t bytes, Access access);

  /// Throws ExecutionError unless all of [address, address + bytes) lies in one buffer that allows it.
  void check(const void* address, std::size_t bytes, Access access) const;

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
    Access access;
    std::string name;
  };
  [[noreturn]] void refuse(std::uintptr_t begin, std::size_t bytes, Access access) const;

  std::vector<Range> ranges_;
};

}  // namespace mla::host
