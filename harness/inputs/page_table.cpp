#include "harness/inputs/page_table.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "harness/inputs/random.hpp"

namespace mla::harness {

namespace {

// Moves a random choice of the first `count` elements to the front, in random order (Fisher-Yates).
void shuffle_front(std::vector<std::int32_t>& ids, std::int64_t count, std::uint64_t seed) {
  const Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto left = ids.size() - static_cast<std::size_t>(i);
    const auto pick = static_cast<std::size_t>(i) + random.below(left, Stream::pages, static_cast<std::uint64_t>(i));
    std::swap(ids[static_cast<std::size_t>(i)], ids[pick]);
  }
}

// Page numbers at which public kernels have failed (aiter#2768, #4341, #5765), most telling first.
std::vector<std::int64_t> edge_pages(const PagePool& pool) {
  const std::int64_t at_4_gib = (std::int64_t{1} << 32) / pool.page_bytes;
  const std::int64_t at_2_gib = (std::int64_t{1} << 31) / pool.page_bytes;
  constexpr std::int64_t kExactInFloat = 1 << 24;
  return {pool.pages - 1,    at_4_gib,      at_4_gib + 1,      at_2_gib,      at_2_gib + 1,
          kExactInFloat + 1, kExactInFloat, kExactInFloat - 1, pool.pages - 2};
}

std::vector<std::int32_t> choose_sparsely(const PagePool& pool, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int32_t> ids;
  std::unordered_set<std::int64_t> seen;
  const auto add = [&](std::int64_t page) {
    if (std::ssize(ids) < count && page > 0 && page < pool.pages && seen.insert(page).second) {
      ids.push_back(static_cast<std::int32_t>(page));
    }
  };
  for (const std::int64_t page : edge_pages(pool)) add(page);
  const Random random(seed);
  for (std::uint64_t draw = 0; std::ssize(ids) < count; ++draw) {
    // Counters below `count` belong to the shuffle.
    const std::uint64_t index = static_cast<std::uint64_t>(count) + draw;
    add(1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(pool.pages - 1), Stream::pages, index)));
  }
  // The edges must not all be the first pages of the first request.
  shuffle_front(ids, count, seed);
  return ids;
}

}  // namespace

std::vector<std::int32_t> choose_pages(const PagePool& pool, std::int64_t count, std::uint64_t seed) {
  if (pool.sparse) return choose_sparsely(pool, count, seed);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(pool.pages - 1));
  std::iota(ids.begin(), ids.end(), 1);
  shuffle_front(ids, count, seed);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

std::vector<std::int32_t> unreferenced_pages(const PagePool& pool, std::span<const std::int32_t> referenced) {
  std::vector<std::int32_t> used(referenced.begin(), referenced.end());
  std::sort(used.begin(), used.end());
  std::vector<std::int32_t> candidates;
  if (pool.sparse) {
    candidates.push_back(0);
    for (const std::int32_t page : used) {
      candidates.push_back(page - 1);
      if (page + 1 < pool.pages) candidates.push_back(page + 1);
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  } else {
    candidates.resize(static_cast<std::size_t>(pool.pages));
    std::iota(candidates.begin(), candidates.end(), 0);
  }
  std::vector<std::int32_t> result;
  std::set_difference(candidates.begin(), candidates.end(), used.begin(), used.end(), std::back_inserter(result));
  return result;
}

}  // namespace mla::harness
