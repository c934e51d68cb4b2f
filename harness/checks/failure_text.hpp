// What a check found, in plain words. Detail of check_decode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/output_rows.hpp"
#include "harness/inputs/buffer.hpp"

namespace mla::harness::checks {

/// Where a row of the outputs belongs.
struct RowPlace {
  int request = 0;
  std::int64_t token = 0;
  int head = 0;
};

class RowPlaces {
 public:
  explicit RowPlaces(const DecodeProblem& problem);
  [[nodiscard]] RowPlace operator[](std::int64_t row) const;
  /// "request 3, token 5, head 7"
  [[nodiscard]] std::string text(std::int64_t row) const;

 private:
  int heads_;
  std::vector<std::int64_t> first_token_;  // [B]
};

/// A name as in "hard" or "lse", and how messages call the tensor.
struct TensorName {
  std::string_view tier;
  std::string_view tensor;
};

/// "canary after `out` overwritten at +0 bytes", if it was.
[[nodiscard]] std::optional<CheckFailure> canary_failure(const Buffer& buffer);

[[nodiscard]] std::optional<CheckFailure> gap_failure(const GapDamage& damage, std::string_view tensor,
                                                      const RowPlaces& places);

/// The failure for one kind of fault in a tensor, if it occurred.
[[nodiscard]] std::optional<CheckFailure> fault_failure(Fault fault, const TensorFindings& findings, TensorName name,
                                                        std::int64_t rows, const RowPlaces& places);

}  // namespace mla::harness::checks
