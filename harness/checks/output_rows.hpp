// Compares outputs with the oracle row by row and counts what is wrong. Detail of check_decode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mla/decode.hpp"
#include "reference/decode.hpp"

namespace mla::harness::checks {

/// What can be wrong with an element.
enum class Fault : std::uint8_t { none, unwritten, nonfinite, empty_row, over_bound };
inline constexpr int kFaults = 5;

/// One element of out (with `dim`) or lse (without) next to its reference.
struct Element {
  std::int64_t row = 0;  // token * H + head
  std::optional<int> dim;
  double got = 0;
  double ref = 0;
  double ratio = 0;  // |got - ref| / bound
  Fault fault = Fault::none;
};

/// The elements with one fault.
struct Tally {
  std::int64_t elements = 0;
  std::int64_t rows = 0;
  std::optional<Element> worst;  // largest ratio; among equals the first

  void add(const Element& element);
  void merge(const Tally& other);
};

/// What is known about one tensor, out or lse.
struct TensorFindings {
  static constexpr int kWorstRows = 3;

  std::array<Tally, kFaults> tallies;
  std::array<std::optional<Element>, kWorstRows> worst_rows;  // worst element of each row, by falling ratio
  std::int64_t nonfinite_got = 0;
  std::int64_t nonfinite_ref = 0;
  double abs_max = 0;
  double error_square_sum = 0;
  double ref_square_sum = 0;

  [[nodiscard]] const Tally& tally(Fault fault) const { return tallies[static_cast<std::size_t>(fault)]; }
  [[nodiscard]] double max_ratio() const { return worst_rows[0] ? worst_rows[0]->ratio : 0; }
  [[nodiscard]] bool faultless() const;
};

/// How the errors of one row of out are spread, in units of what independent roundings explain (tier S).
struct RowSpread {
  std::int64_t row = 0;
  double rms = 0;    // of z = (got - ref) / T over the row's 512 values
  double z_max = 0;  // largest |z|, at `dim`
  int dim = 0;
  double got = 0;  // at `dim`
  double ref = 0;
  double lse_ratio = 0;      // of the row's LSE to its bound in tier S
  double square_sum = 0;     // sum z^2
  double out_ref = 0;        // sum got ref
  double ref_square = 0;     // sum ref^2
  double gain_variance = 0;  // of out_ref, as the error model has it
  bool counted = false;      // sees tokens, all of it written and finite
  bool mixes = false;        // several tokens weigh, as the error model has it

  /// Largest of the row's statistics over its limit.
  [[nodiscard]] double ratio() const;
};

struct Findings {
  TensorFindings out;
  TensorFindings lse;
  std::vector<RowSpread> spread;  // [rows]
};

/// Checks all rows in parallel; the result does not depend on the number of threads.
[[nodiscard]] Findings compare_rows(const DecodeOutputs& outputs, const reference::DecodeOracle& oracle, int heads,
                                    const Precision& precision);

/// Elements between the rows of a padded layout that no longer hold the poison pattern.
struct GapDamage {
  std::int64_t elements = 0;
  std::int64_t first_row = 0;  // the row before the first damaged gap
};
[[nodiscard]] GapDamage gap_damage(const OutputView& out, std::int64_t tokens, int heads);
[[nodiscard]] GapDamage gap_damage(const LseView& lse, std::int64_t tokens, int heads);

}  // namespace mla::harness::checks
