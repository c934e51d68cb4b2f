// One decode problem: everything that determines its inputs and its answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::harness {

/// softmax scale of DeepSeek-V3/R1: 192^-0.5 * (0.1 ln 40 + 1)^2 (YaRN factor 40).
inline constexpr double kDeepSeekSmScale = 0.13523377886088007;

/// Element type as a problem names it. `fp8` is whichever encoding the provider's target has.
enum class ElementType : std::uint8_t { bf16, fp8, e4m3fn, e4m3fnuz };

/// How the random contents of q and kv are made (see inputs/distribution.hpp).
enum class Distribution : std::uint8_t { randn, sharp, needle, uniform, ramp, heavy, outlier, sink, saturating };
inline constexpr int kDistributions = 9;

[[nodiscard]] std::string_view name_of(Distribution distribution);

/// Memory layout of q and kv: `dense`, or `padded` with rows, heads and pages set apart by poisoned gaps.
enum class Layout : std::uint8_t { dense, padded };

/// Immutable; construction validates every field and throws UsageError naming the field, its value and the rule.
class DecodeProblem {
 public:
  struct Fields {
    int heads = 16;                                   // h
    std::vector<std::int64_t> q_lens = {1};           // q: one value for all requests, or one a request
    std::vector<std::int64_t> kv_lens = {1024};       // kv: likewise, in tokens
    int batch = 1;                                    // b
    int page_size = 64;                               // page
    ElementType q_type = ElementType::bf16;           // dtype, before the dot
    ElementType kv_type = ElementType::bf16;          // dtype, after the dot
    bool causal = true;                               // causal
    double sm_scale = kDeepSeekSmScale;               // scale
    double q_scale = 1;                               // qs: default kDefaultFp8Scale where q is fp8
    double kv_scale = 1;                              // ks: likewise for kv
    Distribution distribution = Distribution::randn;  // dist, the first: the contents that are measured
    /// dist, the others: contents on which the case must be right as well. Never holds `distribution`.
    std::vector<Distribution> also = {Distribution::sharp};
    std::uint64_t seed = 0;         // seed
    int workers = 0;                // cu: compute units to plan for, 0 = the target's own
    int split_limit = 0;            // splits: most splits a request, 0 = the planner's choice
    Layout layout = Layout::dense;  // stride
    std::int64_t pool_pages = 0;    // pool: pages in the KV pool, 0 = a few more than are used

    bool operator==(const Fields&) const = default;
  };

  explicit DecodeProblem(Fields fields);

  /// The same problem with contents of one distribution alone.
  [[nodiscard]] DecodeProblem with_distribution(Distribution distribution) const;

  /// The canonical problem word: fields equal to their default are left out.
  [[nodiscard]] std::string word() const;

  [[nodiscard]] const Fields& fields() const { return fields_; }
  [[nodiscard]] int batch() const { return fields_.batch; }
  [[nodiscard]] int q_len(int request) const { return static_cast<int>(at(fields_.q_lens, request)); }
  [[nodiscard]] std::int64_t kv_len(int request) const { return at(fields_.kv_lens, request); }
  [[nodiscard]] std::int64_t kv_pages(int request) const {
    return (kv_len(request) + fields_.page_size - 1) / fields_.page_size;
  }
  /// KV tokens that query row `row` of `request` sees under the problem's mask.
  [[nodiscard]] std::int64_t visible_tokens(int request, int row) const {
    if (!fields_.causal) return kv_len(request);
    return std::max<std::int64_t>(0, kv_len(request) - q_len(request) + row + 1);
  }
  /// T: query rows over all requests.
  [[nodiscard]] std::int64_t total_q() const { return total_q_; }
  [[nodiscard]] std::int64_t total_kv() const { return total_kv_; }
  [[nodiscard]] std::int64_t total_pages() const { return total_pages_; }
  [[nodiscard]] int max_q_len() const { return max_q_len_; }

  bool operator==(const DecodeProblem& other) const { return fields_ == other.fields_; }

 private:
  static std::int64_t at(const std::vector<std::int64_t>& list, int request) {
    return list.size() == 1 ? list.front() : list[static_cast<std::size_t>(request)];
  }

  Fields fields_;
  std::int64_t total_q_ = 0;
  std::int64_t total_kv_ = 0;
  std::int64_t total_pages_ = 0;
  int max_q_len_ = 0;
};

/// Scale given to fp8 operands unless the problem names one: far from 1 and no power of two, so that a kernel that
/// ignores or misplaces a scale cannot pass by accident. Keeps N(0,1) values within +-240 of both encodings.
inline constexpr double kDefaultFp8Scale = 0.0225;

/// The encoding an element type stands for on a target whose own fp8 encoding is `native_fp8`.
[[nodiscard]] DataType resolve(ElementType type, DataType native_fp8);

}  // namespace mla::harness
