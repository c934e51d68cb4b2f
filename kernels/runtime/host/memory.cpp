#include "kernels/runtime/host/memory.hpp"

#include <algorithm>
#include <utility>

namespace mla::host {

void Memory::add(std::string name, const void* data, std::size_t bytes, Access access) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  ranges_.push_back({begin, begin + bytes, access, std::move(name)});
}

void Memory::check(const void* address, std::size_t bytes, Access access) const {
  if (ranges_.empty()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& range : ranges_) {
    if (begin >= range.begin && begin + bytes <= range.end && (access == Access::read || range.access == access))
      return;
  }
  refuse(begin, bytes, access);
}

void Memory::refuse(std::uintptr_t begin, std::size_t bytes, Access access) const {
  // The buffer whose end, or begin, is nearest: the one that was meant.
  const auto distance = [&](const Range& range) {
    return begin < range.begin ? range.begin - begin : begin >= range.end ? begin - range.end : 0;
  };
  const Range& nearest = *std::ranges::min_element(ranges_, {}, distance);
  const auto offset = static_cast<std::int64_t>(begin - nearest.begin);
  const bool inside = begin >= nearest.begin && begin + bytes <= nearest.end;
  throw ExecutionError((access == Access::read ? "read of " : "write of ") + std::to_string(bytes) + " bytes at byte " +
                       std::to_string(offset) + " of " + nearest.name + ", which " +
                       (inside ? "is read only" : "has " + std::to_string(nearest.end - nearest.begin) + " bytes"));
}

}  // namespace mla::host
