// Memory regions with canaries on both sides, inside one shareable arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mla::harness {

/// A tensor's storage between two guard zones. `whole` begins and ends with `kGuardBytes` of the canary pattern; a
/// provider that works on a device copies `whole` there and back, so that the canaries guard the device copy too.
struct Buffer {
  static constexpr std::size_t kGuardBytes = 4096;

  std::string name;
  std::span<std::byte> whole;

  [[nodiscard]] std::span<std::byte> data() const { return whole.subspan(kGuardBytes, whole.size() - 2 * kGuardBytes); }
  /// The data as elements; they begin at a multiple of `Arena::kAlignment`, so any type is aligned.
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(static_cast<void*>(data().data()));
  }
};

/// Fills both guard zones of a buffer with the canary pattern.
void arm_canary(const Buffer& buffer);

/// Offset of the first changed canary byte relative to the data's begin (negative: before it), if any changed.
struct CanaryDamage {
  bool damaged = false;
  std::int64_t offset = 0;
};
[[nodiscard]] CanaryDamage check_canary(const Buffer& buffer);

/// While it lives, the memory pages around buffers cannot be touched: who reads beyond a buffer, which no canary shows,
/// is stopped there. After the data that is exact but for less than `Arena::kAlignment` bytes; before them it is the
/// rest of a page away. A fault prints one line that names the buffer and ends the process as it would have without.
///
/// One at a time in a process: a signal's handler can know of it by a global alone. Throws EnvironmentError.
class GuardPages {
 public:
  explicit GuardPages(std::span<const Buffer* const> buffers);
  ~GuardPages();
  GuardPages(const GuardPages&) = delete;
  GuardPages& operator=(const GuardPages&) = delete;

 private:
  std::vector<std::span<std::byte>> pages_;
};

/// One anonymous shared memory file holding many buffers. The process that fills it hands the descriptor to the
/// processes of the providers; these map it copy-on-write (`Access::private_copy`), so that a stray write by one
/// provider cannot change what another one reads.
class Arena {
 public:
  enum class Access : std::uint8_t { shared, private_copy };

  /// Creates an arena of `bytes`; untouched parts occupy no memory. Throws EnvironmentError.
  [[nodiscard]] static Arena create(std::size_t bytes);
  /// Maps an existing arena through a duplicate of `descriptor`. Throws EnvironmentError.
  [[nodiscard]] static Arena map(int descriptor, Access access);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Data begin at a multiple of this: a cache line, and the widest vector.
  static constexpr std::size_t kAlignment = 64;

  /// Takes the next buffer of `bytes` data bytes, which end within kAlignment bytes of a page's end. The same sequence
  /// of calls on another mapping of the arena gives the same buffers, which is how a child finds what its sibling
  /// wrote. Throws EnvironmentError where the arena is full.
  [[nodiscard]] Buffer take(std::string name, std::size_t bytes);

  /// Bytes that `take` will use for a buffer of `bytes` data bytes.
  [[nodiscard]] static std::size_t footprint(std::size_t bytes);

  /// In a private mapping: forgets all that was written through it, so that it shows the file's contents again.
  void discard_changes();

  /// Closed on exec: a process started anew gets it by dup2, a forked one by inheritance. A forked process should drop
  /// its copy of the shared mapping once it holds a private one.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  Arena(int descriptor, std::span<std::byte> memory) : descriptor_(descriptor), memory_(memory) {}
  void release();

  int descriptor_ = -1;
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

}  // namespace mla::harness
