// How much must be touched for what was read before to be out of the caches.
#pragma once

#include <cstdint>

namespace mla::harness {

/// Bytes of all last-level caches that the machine's processors have together, 0 where the system does not say.
[[nodiscard]] std::int64_t last_level_cache_bytes();

/// Bytes between two reads of the same data that make the second one cold: twice the last-level caches, since they do
/// not replace strictly what was used longest ago; 64 MiB at least, for a system that does not say.
[[nodiscard]] std::int64_t cold_bytes();

}  // namespace mla::harness
