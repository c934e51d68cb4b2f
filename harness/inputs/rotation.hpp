// Cold caches on a CPU: the same address, other memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/inputs/buffer.hpp"

namespace mla::harness {

/// Copies of a buffer of an arena, which take turns at its address. Caches hold physical memory: what was read through
/// the address before the last `advance` is in them no longer, once a whole turn has been read since. A provider that
/// keeps the address notices nothing, and evicting by reading something else would cost a pass over it each time.
class Rotation {
 public:
  /// As many copies as hold `turn_bytes` together; one, and nothing ever moves, where the buffer alone holds as much or
  /// two do not fit into `most_bytes`. The contents are those of now. Throws EnvironmentError.
  Rotation(const Buffer& buffer, std::int64_t turn_bytes, std::int64_t most_bytes);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  /// Puts the next copy at the buffer's address, its pages mapped: nothing faults in the launch that follows.
  void advance();

  [[nodiscard]] std::int64_t copies() const { return copies_; }
  /// Of a whole turn.
  [[nodiscard]] std::int64_t bytes() const { return copies_ * static_cast<std::int64_t>(pages_.size()); }

 private:
  std::span<std::byte> pages_;  // whole pages that hold the buffer and no other
  std::int64_t copies_ = 1;
  std::int64_t current_ = 0;
  int descriptor_ = -1;  // all copies, one behind the other
};

}  // namespace mla::harness
