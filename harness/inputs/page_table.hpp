// Which physical page holds which logical one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mla::harness {

/// A pool of KV pages, of which page 0 is never used: kernels that clamp a bad page number to 0 must meet NaN there.
struct PagePool {
  std::int64_t pages = 0;
  std::int64_t page_bytes = 0;  // stride from one page to the next
  bool sparse = false;          // most of it is never touched
};

/// `count` distinct pages out of [1, pool.pages) in random order; count < pool.pages. In a sparse pool they include
/// the places where an offset or a page number stops fitting a narrower type: the last pages, the pages around byte
/// offsets 2^31 and 2^32, page numbers around 2^24.
[[nodiscard]] std::vector<std::int32_t> choose_pages(const PagePool& pool, std::int64_t count, std::uint64_t seed);

/// The pages that are to hold NaN although no request refers to them, ascending: all of them in an ordinary pool; in a
/// sparse one page 0 and the neighbours of those in use.
[[nodiscard]] std::vector<std::int32_t> unreferenced_pages(const PagePool& pool,
                                                           std::span<const std::int32_t> referenced);

}  // namespace mla::harness
