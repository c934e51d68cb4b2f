#include "harness/checks/output_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "harness/inputs/poison.hpp"
#include "reference/error_model.hpp"

namespace mla::harness::checks {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_poison(Bfloat16 value) {
  return value.bits == kPoisonBfloat16;
}
bool is_poison(float value) {
  return std::bit_cast<std::uint32_t>(value) == kPoisonFloat32;
}

bool is_worse(const Element& a, const Element& b) {
  return a.ratio != b.ratio ? a.ratio > b.ratio : std::pair(a.row, a.dim) < std::pair(b.row, b.dim);
}

void keep_worse(std::optional<Element>& kept, const std::optional<Element>& other) {
  if (other && (!kept || is_worse(*other, *kept))) kept = other;
}

struct RowSums {
  double error = 0;
  double ref = 0;
};

// Inserts an element into the list that falls by ratio.
void keep_worst_rows(TensorFindings& total, std::optional<Element> element) {
  for (auto& kept : total.worst_rows) {
    if (element && (!kept || is_worse(*element, *kept))) std::swap(kept, element);
  }
}

// Collects the elements of one row of one tensor.
class RowFindings {
 public:
  explicit RowFindings(TensorFindings& total) : total_(total) {}

  // Adds what concerns the row as a whole; the last call.
  RowSums finish() {
    for (std::size_t fault = 0; fault < faulty_.size(); ++fault) total_.tallies[fault].rows += faulty_[fault] ? 1 : 0;
    keep_worst_rows(total_, worst_);
    return sums_;
  }

  void add_unwritten(Element element) {
    element.ratio = kInfinity;
    record(element, Fault::unwritten);
  }

  void add(Element element, double bound, bool sees_tokens) {
    if (!std::isfinite(element.got)) ++total_.nonfinite_got;
    if (!std::isfinite(element.ref)) ++total_.nonfinite_ref;
    if (!std::isfinite(element.got) || !std::isfinite(element.ref)) {
      const bool same = element.got == element.ref || (std::isnan(element.got) && std::isnan(element.ref));
      element.ratio = same ? 0 : kInfinity;
      record(element, same ? Fault::none : (sees_tokens ? Fault::nonfinite : Fault::empty_row));
      return;
    }
    const double error = std::abs(element.got - element.ref);
    total_.abs_max = std::max(total_.abs_max, error);
    sums_.error += error * error;
    sums_.ref += element.ref * element.ref;
    // A bound of 0 stands for "exactly".
    element.ratio = error == 0 ? 0 : error / bound;
    record(element, element.ratio <= 1 ? Fault::none : (sees_tokens ? Fault::over_bound : Fault::empty_row));
  }

 private:
  void record(Element& element, Fault fault) {
    element.fault = fault;
    if (!worst_ || is_worse(element, *worst_)) worst_ = element;
    if (fault == Fault::none) return;
    total_.tallies[static_cast<std::size_t>(fault)].add(element);
    faulty_[static_cast<std::size_t>(fault)] = true;
  }

  TensorFindings& total_;
  std::optional<Element> worst_;
  std::array<bool, kFaults> faulty_{};
  RowSums sums_;
};

void merge(TensorFindings& into, const TensorFindings& other) {
  for (std::size_t i = 0; i < into.tallies.size(); ++i) into.tallies[i].merge(other.tallies[i]);
  for (const auto& element : other.worst_rows) keep_worst_rows(into, element);
  into.nonfinite_got += other.nonfinite_got;
  into.nonfinite_ref += other.nonfinite_ref;
  into.abs_max = std::max(into.abs_max, other.abs_max);
}

// Checks rows of both tensors against the oracle.
class RowComparison {
 public:
  RowComparison(const DecodeOutputs& outputs, const reference::DecodeOracle& oracle, int heads,
                const Precision& precision)
      : outputs_(outputs), oracle_(oracle), heads_(heads), precision_(precision) {}

  RowSums compare_out(std::int64_t row, TensorFindings& findings, RowSpread& spread) const {
    const auto* const got = static_cast<const Bfloat16*>(outputs_.out.data) + row / heads_ * outputs_.out.token_stride +
                            row % heads_ * outputs_.out.head_stride;
    const reference::RowModel model(oracle_, row, precision_, outputs_.out.dtype);
    RowFindings found(findings);
    spread.row = row;
    spread.counted = sees_tokens(row);
    spread.mixes = model.mixes();
    for (int dim = 0; dim < kValueDim; ++dim) {
      const double ref = oracle_.out[static_cast<std::size_t>(row * kValueDim + dim)];
      const Element element{.row = row, .dim = dim, .got = static_cast<double>(got[dim].to_float()), .ref = ref};
      if (is_poison(got[dim])) {
        found.add_unwritten(element);
        spread.counted = false;
      } else {
        found.add(element, model.hard_bound(dim), sees_tokens(row));
        if (spread.counted) add_to_spread(spread, element, model.standard_error(dim));
      }
    }
    spread.rms = std::sqrt(spread.square_sum / kValueDim);
    spread.gain_variance += model.gain_variance() * spread.ref_square * spread.ref_square;
    return found.finish();
  }

  void compare_lse(std::int64_t row, TensorFindings& findings, RowSpread& spread) const {
    const float got =
        outputs_.lse.data[row / heads_ * outputs_.lse.token_stride + row % heads_ * outputs_.lse.head_stride];
    RowFindings found(findings);
    const double ref = oracle_.lse[static_cast<std::size_t>(row)];
    const Element element{.row = row, .dim = std::nullopt, .got = static_cast<double>(got), .ref = ref};
    if (is_poison(got)) {
      found.add_unwritten(element);
    } else {
      found.add(element, reference::lse_bound(oracle_, row, precision_), sees_tokens(row));
      const double error = std::abs(element.got - element.ref);
      if (spread.counted) spread.lse_ratio = error / reference::lse_spread_bound(oracle_, row, precision_);
    }
    found.finish();
  }

 private:
  static void add_to_spread(RowSpread& spread, const Element& element, double standard_error) {
    if (!std::isfinite(element.got) || !std::isfinite(element.ref)) {
      spread.counted = false;
      return;
    }
    const double error = element.got - element.ref;
    const double z = error == 0 ? 0 : std::abs(error) / standard_error;
    spread.square_sum += z * z;
    spread.out_ref += element.got * element.ref;
    spread.ref_square += element.ref * element.ref;
    spread.gain_variance += standard_error * standard_error * element.ref * element.ref;
    if (z <= spread.z_max) return;
    spread.z_max = z;
    spread.dim = *element.dim;
    spread.got = element.got;
    spread.ref = element.ref;
  }

  [[nodiscard]] bool sees_tokens(std::int64_t row) const { return oracle_.visible[static_cast<std::size_t>(row)] > 0; }

  const DecodeOutputs& outputs_;
  const reference::DecodeOracle& oracle_;
  int heads_;
  const Precision& precision_;
};

// Finds written elements in the gaps of a tensor whose rows are `width` wide.
template <class Number>
GapDamage find_gap_damage(const Number* data, std::int64_t token_stride, std::int64_t head_stride, std::int64_t tokens,
                          int heads, std::int64_t width) {
  GapDamage damage;
  for (std::int64_t row = 0; row < tokens * heads; ++row) {
    const std::int64_t head = row % heads;
    const Number* const begin = data + row / heads * token_stride;
    // The last head's gap reaches to the next token.
    const std::int64_t end = head + 1 == heads ? token_stride : (head + 1) * head_stride;
    const auto written = std::count_if(begin + head * head_stride + width, begin + end,
                                       [](Number number) { return !is_poison(number); });
    if (written > 0 && damage.elements == 0) damage.first_row = row;
    damage.elements += written;
  }
  return damage;
}

}  // namespace

double RowSpread::ratio() const {
  using Limits = reference::StatisticalLimits;
  return std::max({rms / Limits::kRowRms, z_max / Limits::kElement, lse_ratio});
}

void Tally::add(const Element& element) {
  ++elements;
  keep_worse(worst, element);
}

void Tally::merge(const Tally& other) {
  elements += other.elements;
  rows += other.rows;
  keep_worse(worst, other.worst);
}

bool TensorFindings::faultless() const {
  return std::all_of(tallies.begin(), tallies.end(), [](const Tally& tally) { return tally.elements == 0; });
}

Findings compare_rows(const DecodeOutputs& outputs, const reference::DecodeOracle& oracle, int heads,
                      const Precision& precision) {
  const RowComparison comparison(outputs, oracle, heads, precision);
  std::vector<RowSums> sums(static_cast<std::size_t>(oracle.rows));
  Findings total;
  total.spread.resize(static_cast<std::size_t>(oracle.rows));
#pragma omp parallel
  {
    Findings mine;
#pragma omp for schedule(dynamic, 16) nowait
    for (std::int64_t row = 0; row < oracle.rows; ++row) {
      RowSpread& spread = total.spread[static_cast<std::size_t>(row)];
      sums[static_cast<std::size_t>(row)] = comparison.compare_out(row, mine.out, spread);
      comparison.compare_lse(row, mine.lse, spread);
    }
#pragma omp critical
    {
      merge(total.out, mine.out);
      merge(total.lse, mine.lse);
    }
  }
  // Added in the order of rows, so that the last bit does not depend on which thread had which.
  for (const RowSums& row : sums) {
    total.out.error_square_sum += row.error;
    total.out.ref_square_sum += row.ref;
  }
  return total;
}

GapDamage gap_damage(const OutputView& out, std::int64_t tokens, int heads) {
  return find_gap_damage(static_cast<const Bfloat16*>(out.data), out.token_stride, out.head_stride, tokens, heads,
                         kValueDim);
}

GapDamage gap_damage(const LseView& lse, std::int64_t tokens, int heads) {
  return find_gap_damage(lse.data, lse.token_stride, lse.head_stride, tokens, heads, 1);
}

}  // namespace mla::harness::checks
