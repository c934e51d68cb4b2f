#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "harness/inputs/decode_inputs.hpp"

namespace mla::harness {

namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection in which every input bit reaches every
// output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Hash of `bytes` bytes (a multiple of 8) in which no byte can be changed without changing the result, and two changes
// cancel with probability 2^-64: each step is a bijection of the word it takes in. Four chains hide the latency.
std::uint64_t hash_row(const std::byte* data, std::size_t bytes, std::uint64_t salt) {
  std::uint64_t chain[4] = {salt, ~salt, mix(salt), mix(~salt)};
  for (std::size_t word = 0; word < bytes / 8; ++word) {
    std::uint64_t value = 0;
    std::memcpy(&value, data + 8 * word, sizeof(value));
    std::uint64_t& lane = chain[word % 4];
    lane = std::rotl((lane ^ value) * 0x9e3779b97f4a7c15ULL, 29);
  }
  return mix(mix(mix(mix(chain[0]) ^ chain[1]) ^ chain[2]) ^ chain[3]);
}

// Order-dependent digest of a few numbers.
class NumberDigest {
 public:
  template <class Number>
  void add(Number number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(number));
    state_ = mix(state_ + 0x9e3779b97f4a7c15ULL + mix(bits));
  }
  void add(const std::int32_t* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(numbers[i]);
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

constexpr std::uint64_t salt_of(std::uint64_t tensor, std::uint64_t row) {
  return mix(tensor << 56 | row);
}

std::uint64_t digest_of_batch(const DecodeProblem& problem, const DecodeInputs& in) {
  NumberDigest numbers;
  numbers.add(in.q.dtype);
  numbers.add(in.kv.dtype);
  numbers.add(in.heads);
  numbers.add(in.kv.page_size);
  numbers.add(in.causal);
  numbers.add(in.sm_scale);
  numbers.add(in.q_scale);
  numbers.add(in.kv_scale);
  numbers.add(in.batch.batch);
  numbers.add(in.batch.qo_indptr, problem.batch() + 1);
  numbers.add(in.batch.kv_indptr, problem.batch() + 1);
  numbers.add(in.batch.kv_indices, problem.total_pages());
  numbers.add(in.batch.kv_last_page_len, problem.batch());
  return numbers.value();
}

// Sums of salted row hashes: addition commutes, so that threads may add in any order.
std::uint64_t digest_of_queries(const DecodeProblem& problem, const DecodeInputs& in) {
  const auto* const data = static_cast<const std::byte*>(in.q.data);
  const std::int64_t element = size_in_bytes(in.q.dtype);
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::int64_t row = 0; row < problem.total_q() * in.heads; ++row) {
    const std::int64_t offset = row / in.heads * in.q.token_stride + row % in.heads * in.q.head_stride;
    sum += hash_row(data + offset * element, static_cast<std::size_t>(kHeadDim * element),
                    salt_of(1, static_cast<std::uint64_t>(row)));
  }
  return sum;
}

// What a request's page `logical` holds at physical page `page`.
std::uint64_t digest_of_page(const DecodeProblem& problem, const PagedKvView& kv, int request, std::int64_t logical,
                             std::int64_t page) {
  const std::int64_t element = size_in_bytes(kv.dtype);
  const std::int64_t first = logical * kv.page_size;
  const std::int64_t last = std::min(first + kv.page_size, problem.kv_len(request));
  const std::byte* row = static_cast<const std::byte*>(kv.data) + page * kv.page_stride * element;
  std::uint64_t sum = 0;
  for (std::int64_t token = first; token < last; ++token, row += kv.token_stride * element) {
    sum += hash_row(row, static_cast<std::size_t>(kHeadDim * element),
                    salt_of(2, static_cast<std::uint64_t>(request) << 32 ^ static_cast<std::uint64_t>(token)));
  }
  return sum;
}

std::uint64_t digest_of_tokens(const DecodeProblem& problem, const DecodeInputs& in) {
  std::vector<std::int64_t> first_page = {0};
  for (int request = 0; request < problem.batch(); ++request) {
    first_page.push_back(first_page.back() + problem.kv_pages(request));
  }
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : sum)
  for (std::int64_t i = 0; i < problem.total_pages(); ++i) {
    const auto after = std::upper_bound(first_page.begin(), first_page.end(), i);
    const auto request = static_cast<int>(after - first_page.begin()) - 1;
    const std::int64_t page = in.batch.kv_indices[i];
    // A page number that a stray write has spoilt already shows in the digest of the batch.
    if (page < 0 || page >= in.kv.num_pages) continue;
    sum += digest_of_page(problem, in.kv, request, i - first_page[static_cast<std::size_t>(request)], page);
  }
  return sum;
}

}  // namespace

std::string digest(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers) {
  const DecodeInputs in = layout.bind(buffers);
  // The walk follows the problem, not the batch description in memory, which the kernel under test may have spoilt.
  return fmt::format(
      "{:016x}", mix(digest_of_batch(problem, in) + digest_of_queries(problem, in) + digest_of_tokens(problem, in)));
}

}  // namespace mla::harness
