#include "harness/checks/output_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "harness/checks/row_array.hpp"
#include "harness/inputs/output_row.hpp"
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

// One row of `out` beside the oracle's, all elements at once: most rows have no fault, and their 512 values pass in a
// few vector operations. Only what is at fault is looked at one by one.
struct RowValues {
  RowArray got;
  RowArray ref;
  RowArray bound;
  RowArray variance;
  Eigen::Array<bool, kValueDim, 1> finite;
  RowArray error;  // |got - ref|, 0 where either is not finite
  RowArray ratio;  // error to bound

  RowValues(const Bfloat16* out, const double* oracle, const reference::RowModel& model)
      : got(widened(out)), ref(Eigen::Map<const RowArray>(oracle)) {
    for (int dim = 0; dim < kValueDim; ++dim) {
      bound[dim] = model.hard_bound(dim);
      variance[dim] = model.variance(dim);
    }
    finite = got.isFinite() && ref.isFinite();
    error = finite.select((got - ref).abs(), 0.0);
    ratio = ratios_of(error, bound);
  }

  [[nodiscard]] RowSums sums() const { return {error.square().sum(), finite.select(ref, 0.0).square().sum()}; }
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
  void finish() {
    for (std::size_t fault = 0; fault < faulty_.size(); ++fault) total_.tallies[fault].rows += faulty_[fault] ? 1 : 0;
    keep_worst_rows(total_, worst_);
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
    element.ratio = ratio_of(error, bound);
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
    const Bfloat16* const got = row_of(row).out;
    const reference::RowModel model(oracle_, row, precision_, outputs_.out.dtype);
    const RowValues values(got, oracle_.out.data() + row * kValueDim, model);
    const bool sees = sees_tokens(row);
    const int worst = index_of_largest(values.ratio);
    RowFindings found(findings);
    for (int dim = 0; dim < kValueDim; ++dim) {
      if (dim != worst && values.finite[dim] && values.ratio[dim] <= 1) continue;
      const Element element{.row = row, .dim = dim, .got = values.got[dim], .ref = values.ref[dim]};
      if (is_poison(got[dim])) {
        found.add_unwritten(element);
      } else {
        found.add(element, values.bound[dim], sees);
      }
    }
    found.finish();
    findings.abs_max = std::max(findings.abs_max, values.error.maxCoeff());
    spread.row = row;
    spread.mixes = model.mixes();
    spread.counted = sees && values.finite.all();
    if (spread.counted) measure_spread(spread, values, model.gain_variance());
    return values.sums();
  }

  void compare_lse(std::int64_t row, TensorFindings& findings, RowSpread& spread) const {
    const float got = row_of(row).lse;
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
  static void measure_spread(RowSpread& spread, const RowValues& values, double gain_variance) {
    const RowArray square = ratios_of(values.error.square(), values.variance);
    const RowArray ref_square = values.ref.square();
    spread.square_sum = square.sum();
    spread.out_ref = (values.got * values.ref).sum();
    spread.ref_square = ref_square.sum();
    spread.gain_variance = (values.variance * ref_square).sum() + gain_variance * spread.ref_square * spread.ref_square;
    spread.rms = std::sqrt(spread.square_sum / kValueDim);
    spread.dim = index_of_largest(square);
    spread.z_max = std::sqrt(square[spread.dim]);
    spread.got = values.got[spread.dim];
    spread.ref = values.ref[spread.dim];
  }

  [[nodiscard]] OutputRow row_of(std::int64_t row) const {
    return output_row(outputs_, row / heads_, static_cast<int>(row % heads_));
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
