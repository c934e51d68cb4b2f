// Contents of q and kv whose answer is known without an oracle, and known exactly: every probability is a power of two
// (or negligible), which all types hold, so that only the rounding of the output is left.
//
// kv, the same for all rows of a request of n tokens; V is its first 512 dimensions:
//   0..479    bucket:  1 at k mod 480, else 0. Each output is the mass of one class of tokens.
//   480       parity:  +1 for even k, -1 for odd
//   481..502  code:    parity times (-1)^(bit of k / 2). Each pair of neighbours adds up to 0, so that all partial sums
//                      stay within +-1 whatever n is, and a token too many or too few shows in each sign.
//   511       one
//   512..575  what logits are made of: a level t = floor(240 k / n) in base 16, t = 16 hi + lo, and a mark at the
//   needle
// q is 0 in the latent part. A row's kind says which of the rope dimensions it looks at:
//   uniform   none: p = 1 / n
//   falling   p proportional to 2^-hi: 15 stretches of tokens, each half as heavy as the one before it
//   rising    p proportional to 2^t (or 2^hi where the types cannot say more): the running maximum moves all the time
//   needle    one token has all the mass, or, where the row does not see it, none
// A logit of ln 2 is no number of any type: it is put together from several dimensions of q, each of the rest before
// it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

enum class ProbeKind : std::uint8_t { uniform, falling, rising, needle };
inline constexpr int kProbeKinds = 4;

/// What one row looks at.
struct ProbeRow {
  ProbeKind kind = ProbeKind::uniform;
  std::int64_t needle = -1;  // position, for ProbeKind::needle

  auto operator<=>(const ProbeRow&) const = default;
};

class ProbePattern {
 public:
  static constexpr int kBuckets = 480;
  static constexpr int kParityDim = kBuckets;
  static constexpr int kCodeDim = kParityDim + 1;
  static constexpr int kCodeBits = 22;
  static constexpr int kOneDim = kValueDim - 1;
  static constexpr int kLevels = 240;
  static constexpr int kLevelBase = 16;
  static constexpr int kFineUnits = 256;

  /// Elements of q whose products with a level add up to a multiple of ln 2 a level.
  struct Digits {
    std::vector<float> coarse;
    std::vector<float> fine;  // in units of 1 / kFineUnits
    [[nodiscard]] double sum() const;
  };

  ProbePattern(const DecodeProblem& problem, const DecodeLayout& layout);

  /// Whether the problem's types and scales can express the kind's logits.
  [[nodiscard]] bool can(ProbeKind kind) const;

  /// +1 or -1: dimension kParityDim + `bit` of token k; bit 0 is the parity.
  [[nodiscard]] static int code(std::int64_t k, int bit) {
    const int parity = (k & 1) != 0 ? -1 : 1;
    return bit > 0 && ((k >> bit) & 1) != 0 ? -parity : parity;
  }
  [[nodiscard]] static std::int64_t level(std::int64_t k, std::int64_t kv_len) { return k * kLevels / kv_len; }

  /// Row of kv, in elements.
  using KeyRow = std::array<float, kHeadDim>;
  [[nodiscard]] KeyRow key(std::int64_t k, std::int64_t kv_len, bool is_needle) const;
  /// Row of q, in elements.
  [[nodiscard]] KeyRow query(ProbeKind kind) const;

  /// Logit of a token at `level`, or of the needle.
  [[nodiscard]] double logit(ProbeKind kind, std::int64_t level) const;
  [[nodiscard]] double needle_logit() const { return needle_logit_; }
  /// How far the logits of a kind are from exact multiples of ln 2, at most.
  [[nodiscard]] double deviation(ProbeKind kind) const;

 private:
  [[nodiscard]] bool plan_levels(DataType q_type, double scale, bool fine, int dims);

  // Rope dimensions in order: hi * unit, hi * unit / kFineUnits, the same two of lo, the needle's mark.
  float unit_ = 0;  // 0 where levels cannot be expressed
  int hi_dims_ = 0;
  int hi_fine_dims_ = 0;
  int lo_dims_ = 0;
  int lo_fine_dims_ = 0;
  Digits fall_;     // q over hi, to make ln 2 a level
  Digits rise_hi_;  // q over hi, to make 16 ln 2, or ln 2 where hi alone rises
  Digits rise_lo_;  // q over lo, to make ln 2; none where hi alone rises
  std::vector<float> needle_q_;
  double hi_step_ = 0;       // logit of one level of hi for `falling`, without its sign
  double rise_hi_step_ = 0;  // logit of one level of hi for `rising`
  double rise_lo_step_ = 0;
  double needle_logit_ = 0;
};

/// The rows of each launch of a sweep, and the inputs that go with them.
class ProbeInputs {
 public:
  ProbeInputs(const DecodeProblem& problem, const DecodeLayout& layout, const DecodeInputBuffers& buffers);

  /// Launches of a whole sweep. The first is uniform everywhere: it sees a token lost in any row. In each of the others
  /// rows take turns in falling, rising and needle, and the needle of each request is at another of its places.
  [[nodiscard]] int launches() const { return launches_; }

  [[nodiscard]] ProbeRow row(int launch, int request, int token, int head) const;
  [[nodiscard]] const ProbePattern& pattern() const { return pattern_; }

  /// Writes q and kv of launch `launch`. Everything else in the buffers is left; what an earlier `fill` wrote must
  /// still be there.
  void fill(int launch);

 private:
  [[nodiscard]] std::int64_t needle(int launch, int request) const;
  void write_tokens(const DecodeInputs& views) const;
  void write_queries(const QueryView& q, int launch) const;
  void write_token(const DecodeInputs& views, int request, std::int64_t position, bool is_needle) const;

  DecodeProblem problem_;
  DecodeLayout layout_;
  DecodeInputBuffers buffers_;
  ProbePattern pattern_;
  std::vector<std::vector<std::int64_t>> needles_;  // of each request
  int launches_a_place_ = 1;                        // of a needle
  int launches_ = 1;
  int filled_ = -1;  // the launch whose contents the buffers hold
};

}  // namespace mla::harness
