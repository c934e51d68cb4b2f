// How the random contents of q and kv are shaped, so that faults show.
// An fp8 operand holds the value divided by its scale; the default scales keep all of this finite for DeepSeek's
// sm_scale, and a problem that names another may have to name another q_scale, or its largest values saturate.
//
// With a = logit_sd / (|sm_scale| * sqrt(576)):
//   randn   kv ~ N(0, 1), q ~ a N(0, 1), logits of standard deviation 1: near-uniform softmax, the average over the
//           context. What depends on many tokens shows; one token in thousands hardly does.
//   sharp   the same with logits of standard deviation 3: few tokens carry the mass, errors of scale and mask show.
//   needle  tokens at the places where kernels go wrong carry as much softmax mass each as all ordinary ones together,
//           at any context length. For each request a random direction u in {-1, 1}^576 is drawn;
//               q = a (N(0, 1) + u),   kv = N(0, 1) + c u at needles,   kv = N(0, 1) elsewhere,   c = ln(n) / 24.
//           A needle's logit is then N(ln n, 2 + c^2), another token's N(0, 2), since u.u = 576 = 24^2 and
//           a * sm_scale = 1 / 24. One shared direction, rather than the sum of the query rows
//           used by simpler recipes, keeps that true for every number of heads and query tokens: the cross terms of a
//           sum over R rows grow as sqrt(R) and drown the needle from R = 500 on. The amplitude c stays below 0.6 up to
//           a million tokens, so that fp8 does not saturate. At n = 1, c = 0: the only token has all the mass anyhow.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/decode_problem.hpp"

namespace mla::harness {

/// Standard deviation of q's random part.
[[nodiscard]] double query_amplitude(const DecodeProblem& problem);

/// Positions of a request that are needles, ascending, each in [0, kv_len): the first token; tokens at the quarters and
/// around the middle that begin a page of any size; the last four; and for every query row the last position it sees
/// and the first it does not. They depend on no page size, so that the contents do not either.
[[nodiscard]] std::vector<std::int64_t> needle_positions(std::int64_t kv_len, int q_len);

/// c: amplitude of the request's direction in its needles.
[[nodiscard]] double needle_amplitude(std::int64_t kv_len);

}  // namespace mla::harness
