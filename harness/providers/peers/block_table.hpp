// What the kernels that descend from FlashMLA ask of a batch, and the tables they read it by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/providers/hip/device_execution.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness::peers {

/// Whether `problem` has pages of 64 tokens, dense layouts, one q_len for all requests and no row without a visible
/// token, in a batch of at most `most_requests`.
[[nodiscard]] inline Support supports_block_table(const DecodeProblem& problem, int most_requests) {
  const auto& fields = problem.fields();
  const auto unsupported = [](std::string detail) { return Support{SkipReason::unsupported_shape, std::move(detail)}; };
  if (fields.page_size != 64) return unsupported("FlashMLA's page size is 64");
  if (fields.layout != Layout::dense) return unsupported("FlashMLA's q, out and lse are dense");
  if (problem.batch() > most_requests) return unsupported(fmt::format("FlashMLA plans {} requests", most_requests));
  for (int request = 0; request < problem.batch(); ++request) {
    if (problem.q_len(request) != problem.q_len(0)) return unsupported("FlashMLA's requests have one q_len");
    // It gives such rows an lse of +inf, and the contract of this project is -inf.
    const int hidden = fields.causal ? problem.q_len(request) - 1 : 0;
    if (problem.kv_len(request) <= hidden) return unsupported("FlashMLA's rows see a token at least");
  }
  if (problem.q_len(0) == 0) return unsupported("FlashMLA's requests have a query token at least");
  return {};
}

/// The rectangular block table and the lengths in tokens, on the device, which an engine on FlashMLA keeps instead of
/// ours.
class BlockTable {
 public:
  explicit BlockTable(const DecodeCase& problem_case) {
    const DecodeProblem& problem = problem_case.problem;
    const auto* indptr = problem_case.inputs.kv_indptr.as<std::int32_t>();
    const auto* indices = problem_case.inputs.kv_indices.as<std::int32_t>();
    std::vector<int> lens(static_cast<std::size_t>(problem.batch()));
    std::int64_t width = 1;
    for (int request = 0; request < problem.batch(); ++request) {
      lens[static_cast<std::size_t>(request)] = static_cast<int>(problem.kv_len(request));
      width = std::max(width, problem.kv_pages(request));
    }
    // Page 0 is no request's and holds NaN: entries after a request's last must not be used.
    std::vector<int> table(static_cast<std::size_t>(problem.batch() * width), 0);
    for (int request = 0; request < problem.batch(); ++request) {
      std::copy(indices + indptr[request], indices + indptr[request + 1], table.begin() + request * width);
    }
    pages_ = on_device(table);
    kv_lens_ = on_device(lens);
    width_ = static_cast<int>(width);
  }

  /// [requests, width()]
  [[nodiscard]] const int* pages() const { return address(pages_); }
  [[nodiscard]] int width() const { return width_; }
  /// [requests]
  [[nodiscard]] const int* kv_lens() const { return address(kv_lens_); }

 private:
  static hip::DeviceMemory on_device(const std::vector<int>& values) {
    hip::DeviceMemory memory(values.size() * sizeof(int));
    hip::upload(memory.data(), std::as_bytes(std::span(values)));
    return memory;
  }
  static const int* address(const hip::DeviceMemory& memory) {
    return static_cast<const int*>(static_cast<const void*>(memory.data()));
  }

  hip::DeviceMemory pages_, kv_lens_;
  int width_ = 0;
};

/// Scratch memory, poisoned as the outputs are: what is read without having been written shows as NaN.
[[nodiscard]] inline hip::DeviceMemory poisoned_scratch(std::size_t bytes) {
  hip::DeviceMemory memory(bytes);
  hip::check(hipMemset(memory.data(), 0xff, bytes), "hipMemset");
  return memory;
}

}  // namespace mla::harness::peers
