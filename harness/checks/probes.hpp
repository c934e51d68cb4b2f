// Exact probes: outputs whose answer is known in closed form, so that nothing but the rounding of the output is
// allowed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/inputs/probe_pattern.hpp"

namespace mla::harness {

/// What each probe shows (inputs/probe_pattern.hpp has the patterns).
enum class ProbeId : std::uint8_t {
  buckets,  // E1: the mass of each class of tokens, and the row's LSE, under equal weights
  code,     // E2: signs that spell the index of a token too many or too few
  one,      // E3: V = 1 gives 1: normalisation, parts of a split request that are stale or weighted wrongly
  falling,  // E4: weights 2^-j by position: the maximum comes first, parts differ in weight
  needle,   // E5: one token has all the mass, at each place where kernels go wrong, seen and just not seen
  rising,   // E6: the maximum moves all the time and comes last
};
inline constexpr int kProbes = 6;

/// "E1" to "E6".
[[nodiscard]] std::string_view name_of(ProbeId probe);

struct ProbeResult {
  ProbeId probe = ProbeId::buckets;
  TierVerdict verdict = TierVerdict::skipped;  // skipped: types or scales cannot express it, or no row had it
  double max_ratio = 0;                        // of error to bound
};

/// A row that is wrong in a probe.
struct ProbeFault {
  ProbeId probe = ProbeId::buckets;
  int request = 0;
  std::int64_t token = 0;  // row of the tensors
  int head = 0;
  std::optional<int> dim;  // none where the LSE is wrong
  double got = 0;
  double want = 0;
  double ratio = 0;
  std::string finding;  // what the row's values spell, as "token 1234 is missing"; empty where they spell nothing
};

/// Collects launches of a sweep.
class ProbeCheck {
 public:
  ProbeCheck(const DecodeProblem& problem, const DecodeLayout& layout, const ProbeInputs& inputs,
             const Precision& precision);

  /// Compares the outputs of launch `launch`, poisoned before it.
  void add(int launch, const DecodeOutputBuffers& outputs);

  [[nodiscard]] const std::array<ProbeResult, kProbes>& results() const { return results_; }
  /// The worst row of each probe that failed, with the number of rows.
  [[nodiscard]] std::vector<CheckFailure> failures() const;
  /// The same for programs; empty where all is well.
  [[nodiscard]] std::vector<ProbeFault> faults() const;
  [[nodiscard]] bool passed() const;

 private:
  struct Tally {
    std::int64_t rows = 0;
    std::int64_t wrong = 0;
    std::optional<ProbeFault> worst;
  };

  const DecodeProblem& problem_;
  const DecodeLayout& layout_;
  const ProbeInputs& inputs_;
  Precision precision_;
  std::array<ProbeResult, kProbes> results_;
  std::array<Tally, kProbes> tallies_;
};

}  // namespace mla::harness
