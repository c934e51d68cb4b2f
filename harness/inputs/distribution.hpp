// How the random contents of q and kv are shaped, so that faults show.
// An fp8 operand holds the value divided by its scale; the default scales keep all of this finite for DeepSeek's
// sm_scale, and a problem that names another may have to name another q_scale, or its largest values saturate.
//
// In general, with a random direction u in {-1, 1}^576 a request and N a standard normal number an element,
//     q = a (N + d u),   kv = w_d (s N + c u),
// where a sets the spread of the logits, d is 0 or 1, w_d is 1 but for outlier channels, and s and c are those of the
// token. With w = 1 the logits of tokens with c = 0 have the stated standard deviation, and one of c adds
// a sm_scale c u.u = 24 c for a = 1 / (24 sm_scale), since 576 = 24^2.
//   randn       d = 0, logits of standard deviation 1: near-uniform softmax, the average over the context. What depends
//               on many tokens shows; one token in thousands hardly does.
//   sharp       the same with logits of standard deviation 3: few tokens carry the mass, errors of scale and mask show.
//   uniform     the same with 0.01: every token weighs alike, so that all roundings of P go the same way.
//   heavy       N of kv replaced by Student's t with 3 degrees of freedom, of variance 1: a few elements dominate.
//   outlier     channels of kv apart as in the latent of real models: w = 2 in 8 of them, 1/8 in all others.
//   saturating  w = 8: with the default scale a good part of an fp8 KV is at its largest value.
//   needle      tokens at the places where kernels go wrong carry as much softmax mass each as all ordinary ones
//               together, at any context length: d = 1 and c = ln(n) / 24 at needles. A needle's logit is then
//               N(ln n, 2 + c^2), another token's N(0, 2). One shared direction, rather than the sum of the query rows
//               used by simpler recipes, keeps that true for every number of heads and query tokens: the cross terms of
//               a sum over R rows grow as sqrt(R) and drown the needle from R = 500 on. The amplitude c stays below 0.6
//               up to a million tokens, so that fp8 does not saturate. At n = 1, c = 0: the only token has all the
//               mass.
//   sink        the first token has some nine tenths of the mass and small values: c = (ln(n) + 2) / 24, s = 1/16. A
//               kernel that loses it is wrong by a factor, one that loses another token by little.
//   ramp        c rises with the position from 0 to 1/3: logits rise by 8 from the first token to the last, and the
//               running maximum with them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/problem/decode_problem.hpp"
#include "mla/shape.hpp"

namespace mla::harness {

/// a: standard deviation of q's random part.
[[nodiscard]] double query_amplitude(const DecodeProblem& problem);

/// Positions of a request that are needles, ascending, each in [0, kv_len): the first token; tokens at the quarters and
/// around the middle that begin a page of any size; the last four; and for every query row the last position it sees
/// and the first it does not. They depend on no page size, so that the contents do not either.
[[nodiscard]] std::vector<std::int64_t> needle_positions(std::int64_t kv_len, int q_len);

/// c of a needle.
[[nodiscard]] double needle_amplitude(std::int64_t kv_len);

/// d = 1: the request's direction is part of its queries.
[[nodiscard]] bool has_direction(Distribution distribution);

/// s and c of one token.
struct TokenShape {
  double noise = 1;
  double along = 0;
};
/// Of tokens that are not special, where they are alike; none where the shape depends on the position (ramp).
[[nodiscard]] std::optional<TokenShape> ordinary_token(Distribution distribution);
/// Of a token at `position`, special or not.
[[nodiscard]] TokenShape token_shape(Distribution distribution, std::int64_t position, std::int64_t kv_len, int q_len);
/// Positions of the tokens of another shape than `ordinary_token`; none where that has no value.
[[nodiscard]] std::vector<std::int64_t> special_positions(Distribution distribution, std::int64_t kv_len, int q_len);

/// w of every dimension.
[[nodiscard]] std::array<double, kHeadDim> channel_weights(const DecodeProblem& problem);

}  // namespace mla::harness
