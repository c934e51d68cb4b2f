// A check as the members `correctness` and `safety` of a report's case.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/checks/check_decode.hpp"

namespace mla::harness {

/// The `correctness` object. Reports are strict JSON: in `got` and `ref`, what JSON cannot write is the string "nan",
/// "inf" or "-inf", and an element that was not written is null; an infinite ratio is null.
[[nodiscard]] nlohmann::ordered_json correctness_json(const DecodeCheck& check, const Precision& precision);

/// The members of the `safety` object that a single run determines: `canary` and `poison_left`.
[[nodiscard]] nlohmann::ordered_json safety_json(const DecodeCheck& check);

}  // namespace mla::harness
