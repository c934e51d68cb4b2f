// A check as the members `correctness` and `safety` of a report's case.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/detectability.hpp"
#include "harness/checks/probes.hpp"

namespace mla::harness {

/// The `correctness` object. Reports are strict JSON: in `got` and `ref`, what JSON cannot write is the string "nan",
/// "inf" or "-inf", and an element that was not written is null; an infinite ratio is null.
[[nodiscard]] nlohmann::ordered_json correctness_json(const DecodeCheck& check, const Precision& precision);

/// A value of `correctness.distributions`: the tiers on other contents than the first distribution's.
[[nodiscard]] nlohmann::ordered_json distribution_json(const DecodeCheck& check);

/// `correctness.probes`: verdict and largest ratio of each of E1 to E6.
[[nodiscard]] nlohmann::ordered_json probes_json(const ProbeCheck& probes);

/// `correctness.detectability`: for each small fault the signal in each tier, null where the tier was not run.
[[nodiscard]] nlohmann::ordered_json detectability_json(const Detectability& detectability);

/// The members of the `safety` object that a single run determines: `canary` and `poison_left`.
[[nodiscard]] nlohmann::ordered_json safety_json(const DecodeCheck& check);

}  // namespace mla::harness
