#include "harness/checks/detectability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/Core>

#include "harness/checks/probe_answer.hpp"
#include "harness/checks/spread.hpp"
#include "reference/error_model.hpp"
#include "reference/widen.hpp"

namespace mla::harness {

namespace {

using Vector = Eigen::VectorXd;

constexpr double kScaleError = 0.01;
// A lost only token changes the answer beyond any bound; JSON has no infinity.
constexpr double kCertain = 1e6;

// A row of the problem and where its tokens lie.
struct SampledRow {
  int request;
  int token;         // of the request
  std::int64_t row;  // of the oracle
  std::int64_t visible;
};

std::vector<SampledRow> rows_that_see(const DecodeProblem& problem) {
  std::vector<SampledRow> rows;
  std::int64_t row = 0;
  for (int request = 0; request < problem.batch(); ++request) {
    for (int token = 0; token < problem.q_len(request); ++token) {
      const std::int64_t visible = problem.visible_tokens(request, token);
      for (int head = 0; head < problem.fields().heads; ++head, ++row) {
        if (visible > 0) rows.push_back({request, token, row, visible});
      }
    }
  }
  return rows;
}

std::vector<SampledRow> sample(const DecodeProblem& problem) {
  std::vector<SampledRow> rows = rows_that_see(problem);
  if (rows.empty()) return rows;
  const std::size_t count = std::clamp<std::size_t>(rows.size() / 16, 1, 8);
  std::vector<SampledRow> chosen = {*std::max_element(
      rows.begin(), rows.end(), [](const SampledRow& a, const SampledRow& b) { return a.visible < b.visible; })};
  for (std::size_t i = 1; i < count; ++i) chosen.push_back(rows[i * rows.size() / count]);
  return chosen;
}

// The row's softmax in double precision. The keys, whose reading is what costs, are gone through once, as flash
// attention does.
class Softmax {
 public:
  Softmax(const DecodeInputs& inputs, const SampledRow& at, int heads)
      : inputs_(inputs), at_(at), logits_(at.visible), weighted_(Vector::Zero(kValueDim)) {
    Vector query(kHeadDim);
    const std::int64_t token = at.row / heads;
    reference::widen(inputs.q.data, inputs.q.dtype,
                     token * inputs.q.token_stride + at.row % heads * inputs.q.head_stride,
                     {query.data(), static_cast<std::size_t>(kHeadDim)});
    query *= static_cast<double>(inputs.sm_scale) * static_cast<double>(inputs.q_scale) *
             static_cast<double>(inputs.kv_scale);
    constexpr std::int64_t kBlockTokens = 64;
    Matrix keys(kHeadDim, kBlockTokens);
    for (std::int64_t begin = 0; begin < at.visible; begin += kBlockTokens) {
      const std::int64_t count = std::min(kBlockTokens, at.visible - begin);
      for (std::int64_t i = 0; i < count; ++i) read_key(begin + i, keys.col(i).data());
      logits_.segment(begin, count).noalias() = keys.leftCols(count).transpose() * query;
      add(logits_.segment(begin, count), keys.topLeftCorner(kValueDim, count));
    }
  }

  [[nodiscard]] const Vector& logits() const { return logits_; }
  [[nodiscard]] double probability(std::int64_t k) const { return std::exp(logits_[k] - maximum_) / total_; }
  [[nodiscard]] double mean_logit() const { return moment_ / total_; }

  // V of one token.
  [[nodiscard]] Vector value(std::int64_t k) const {
    Vector key(kHeadDim);
    read_key(k, key.data());
    return key.head(kValueDim) * static_cast<double>(inputs_.kv_scale);
  }
  // Derivative of the output `out` by the logarithm of the scale: sum p (s - mean s) v.
  [[nodiscard]] Vector scale_derivative(const Vector& out) const {
    return weighted_ * (static_cast<double>(inputs_.kv_scale) / total_) - mean_logit() * out;
  }

 private:
  using Matrix = Eigen::MatrixXd;

  void read_key(std::int64_t k, double* target) const {
    const PagedKvView& kv = inputs_.kv;
    const std::int64_t page = inputs_.batch.kv_indices[inputs_.batch.kv_indptr[at_.request] + k / kv.page_size];
    reference::widen(kv.data, kv.dtype, page * kv.page_stride + k % kv.page_size * kv.token_stride,
                     {target, static_cast<std::size_t>(kHeadDim)});
  }

  void add(const Eigen::Ref<const Vector>& logits, const Eigen::Ref<const Matrix>& values) {
    const double maximum = std::max(maximum_, logits.maxCoeff());
    const double factor = std::exp(maximum_ - maximum);
    maximum_ = maximum;
    const Vector weights = (logits.array() - maximum).exp();
    const Vector moments = weights.cwiseProduct(logits);
    total_ = factor * total_ + weights.sum();
    moment_ = factor * moment_ + moments.sum();
    weighted_ *= factor;
    weighted_.noalias() += values * moments;
  }

  const DecodeInputs& inputs_;
  SampledRow at_;
  Vector logits_;
  double maximum_ = -std::numeric_limits<double>::infinity();
  double total_ = 0;   // sum e^(s - maximum)
  double moment_ = 0;  // sum e^(s - maximum) s
  Vector weighted_;    // sum e^(s - maximum) s v, v in elements of kv
};

double capped(double signal) {
  return signal < kCertain ? signal : kCertain;  // NaN too: 0 / 0 where nothing at all is allowed and nothing changes
}

// What a change of the row's output and LSE gives in each tier.
class RowSignals {
 public:
  RowSignals(const reference::DecodeOracle& oracle, std::int64_t row, const Precision& precision, bool has_spread)
      : model_(oracle, row, precision, DataType::bf16),
        lse_bound_(reference::lse_bound(oracle, row, precision)),
        has_spread_(has_spread) {}

  [[nodiscard]] Signal of(const Vector& out_change, double lse_change) const {
    double hard = 0;
    double z_max = 0;
    double square_sum = 0;
    for (int d = 0; d < kValueDim; ++d) {
      const double change = std::abs(out_change[d]);
      if (change == 0) continue;
      hard = std::max(hard, change / model_.hard_bound(d));
      const double z = change / model_.standard_error(d);
      z_max = std::max(z_max, z);
      square_sum += z * z;
    }
    constexpr double kEnough = Detectability::kEnough;
    Signal signal;
    signal.hard = capped(kEnough * hard);
    if (has_spread_) {
      signal.stat =
          capped(std::max(std::sqrt(square_sum / kValueDim), kEnough * z_max / reference::StatisticalLimits::kElement));
    }
    signal.lse = capped(kEnough * std::abs(lse_change) / lse_bound_);
    return signal;
  }

 private:
  reference::RowModel model_;
  double lse_bound_;
  bool has_spread_;
};

// Without token k the others weigh 1 / (1 - p) times as much.
Signal without_token(const Softmax& row, std::int64_t k, const Vector& out, const RowSignals& signals) {
  const double p = row.probability(k);
  const double rest = 1 - p;
  if (rest < 1e-9) return {kCertain, kCertain, kCertain, std::nullopt};
  return signals.of(p / rest * (out - row.value(k)), std::log(rest));
}

// The token of median weight.
std::int64_t median_token(const Vector& logits) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(logits.size()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](std::int64_t a, std::int64_t b) { return logits[a] < logits[b]; });
  return *middle;
}

void keep(std::optional<double>& kept, const std::optional<double>& other, bool larger) {
  if (!other) return;
  if (!kept || (larger ? *other > *kept : *other < *kept)) kept = other;
}

void combine(Signal& kept, const Signal& other, bool larger) {
  keep(kept.hard, other.hard, larger);
  keep(kept.stat, other.stat, larger);
  keep(kept.lse, other.lse, larger);
  keep(kept.probes, other.probes, larger);
}

Detectability detectability_of(const DecodeInputs& inputs, const SampledRow& at, const reference::DecodeOracle& oracle,
                               const Precision& precision, bool has_spread) {
  const RowSignals signals(oracle, at.row, precision, has_spread);
  const Vector out = Eigen::Map<const Vector>(oracle.out.data() + at.row * kValueDim, kValueDim);
  const Softmax row(inputs, at, inputs.heads);
  Detectability result;
  result.of(SmallFault::dropped_token) = without_token(row, median_token(row.logits()), out, signals);
  result.of(SmallFault::mask_shift) = without_token(row, at.visible - 1, out, signals);
  result.of(SmallFault::scale) = signals.of(kScaleError * row.scale_derivative(out), kScaleError * row.mean_logit());
  return result;
}

}  // namespace

std::string_view name_of(SmallFault fault) {
  switch (fault) {
    case SmallFault::dropped_token: return "dropped_token";
    case SmallFault::scale: return "scale_1_percent";
    case SmallFault::mask_shift: return "mask_shift";
  }
  return "?";
}

std::optional<double> Signal::best() const {
  return std::max({hard, stat, lse, probes});  // none is less than any value
}

void Signal::merge(const Signal& other) {
  combine(*this, other, true);
}

void Detectability::merge(const Detectability& other) {
  for (std::size_t i = 0; i < signals.size(); ++i) signals[i].merge(other.signals[i]);
}

std::vector<SmallFault> Detectability::hidden() const {
  std::vector<SmallFault> faults;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const auto best = signals[i].best();
    if (best && *best < kEnough) faults.push_back(static_cast<SmallFault>(i));
  }
  return faults;
}

std::string hidden_text(const Detectability& detectability) {
  constexpr std::array<std::string_view, kSmallFaults> texts = {"a token lost", "a softmax scale 1 % off",
                                                                "a mask one token off"};
  std::string text;
  for (const SmallFault fault : detectability.hidden()) {
    const Signal& signal = detectability.of(fault);
    const auto number = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.2g}", *value) : std::string("not run");
    };
    text += fmt::format("{}{} would not show: signal {} in hard, {} in stat, {} in lse, {} in probes, {} is needed",
                        text.empty() ? "" : "; ", texts[static_cast<std::size_t>(fault)], number(signal.hard),
                        number(signal.stat), number(signal.lse), number(signal.probes), Detectability::kEnough);
  }
  return text;
}

Detectability detectability(const DecodeProblem& problem, const DecodeInputs& inputs,
                            const reference::DecodeOracle& oracle, const Precision& precision) {
  const bool has_spread = checks::spread_scope(problem.fields().distribution, precision).rows;
  const std::vector<SampledRow> rows = sample(problem);
  std::vector<Detectability> found(rows.size());
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t i = 0; i < rows.size(); ++i) {
    found[i] = detectability_of(inputs, rows[i], oracle, precision, has_spread);
  }
  Detectability result;
  for (const Detectability& row : found) {
    for (std::size_t i = 0; i < row.signals.size(); ++i) {
      combine(result.signals[i], row.signals[i], static_cast<SmallFault>(i) == SmallFault::scale);
    }
  }
  return result;
}

Detectability probe_detectability(const DecodeProblem& problem, const ProbePattern& pattern,
                                  const Precision& precision) {
  Detectability result;
  const std::vector<SampledRow> rows = rows_that_see(problem);
  if (rows.empty()) return result;
  const SampledRow& longest = *std::max_element(
      rows.begin(), rows.end(), [](const SampledRow& a, const SampledRow& b) { return a.visible < b.visible; });
  const double kv_scale = problem.fields().kv_scale;
  const auto answer_of = [&](ProbeKind kind) {
    return checks::probe_answer(pattern, {kind, -1}, longest.visible, problem.kv_len(longest.request), kv_scale,
                                precision);
  };
  constexpr double kEnough = Detectability::kEnough;
  const checks::ProbeAnswer uniform = answer_of(ProbeKind::uniform);
  const auto n = static_cast<double>(longest.visible);
  double lost = kCertain;
  if (longest.visible > 1) {
    // The token's own signs of 1 / n go, and the LSE falls by as much.
    const auto parity = static_cast<std::size_t>(ProbePattern::kParityDim);
    const double sign = (std::abs(kv_scale) - std::abs(uniform.out[parity])) / (n - 1) / uniform.bound[parity];
    lost = capped(kEnough * std::max(sign, -std::log1p(-1 / n) / uniform.lse_bound));
  }
  result.of(SmallFault::dropped_token).probes = lost;
  result.of(SmallFault::mask_shift).probes = lost;
  if (pattern.can(ProbeKind::falling)) {
    const checks::ProbeAnswer falling = answer_of(ProbeKind::falling);
    result.of(SmallFault::scale).probes =
        capped(kEnough * kScaleError * std::abs(falling.mean_logit) / falling.lse_bound);
  }
  return result;
}

}  // namespace mla::harness
