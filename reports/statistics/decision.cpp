#include "reports/statistics/decision.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

#include "reports/statistics/robust.hpp"

namespace mla::reports::statistics {
namespace {

using StudentsT = boost::math::students_t_distribution<double>;

/// Launches that agree to the last bit (a coarse clock) must not make a standard error of zero. A thousandth of a
/// percent is far below every margin.
constexpr double kMinSd = 1e-5;

double mean_of(std::span<const double> sample) {
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

double sum_of_squares(std::span<const double> sample, double mean) {
  return std::accumulate(sample.begin(), sample.end(), 0.0,
                         [mean](double sum, double value) { return sum + (value - mean) * (value - mean); });
}

/// A case's standard deviation drawn towards that of all cases, and the degrees of freedom that this gains.
struct Moderated {
  double sd;
  double degrees;
};

Moderated moderate(const Effect& effect, double common_sd, double shared_degrees) {
  const double degrees = effect.degrees + shared_degrees;
  const double variance = (shared_degrees * common_sd * common_sd + effect.degrees * effect.sd * effect.sd) / degrees;
  return {std::max(std::sqrt(variance), kMinSd), degrees};
}

double common_sd(std::span<const Effect> effects) {
  std::vector<double> sds;
  for (const Effect& effect : effects) sds.push_back(effect.sd);
  return sds.empty() ? 0 : median(std::move(sds));
}

/// Quantiles of Student's t. Most cases of a comparison have the same degrees of freedom, and a quantile costs more
/// than the rest of a case's decision.
class Quantiles {
 public:
  struct OfT {
    double q80;
    double q95;
    double q975;
    double within;  // of the interval that must lie inside the margin
  };

  explicit Quantiles(double level) : level_(level) {}

  [[nodiscard]] const OfT& at(double degrees) {
    const auto [found, added] = known_.try_emplace(degrees);
    if (added) {
      const StudentsT t(degrees);
      using boost::math::quantile;
      found->second = {quantile(t, 0.80), quantile(t, 0.95), quantile(t, 0.975), quantile(t, 1 - level_)};
    }
    return found->second;
  }

 private:
  double level_;
  std::map<double, OfT> known_;
};

Decision test(const Effect& effect, const Moderated& moderated, const Quantiles::OfT& quantiles) {
  const double error = moderated.sd * effect.error_per_sd;
  const StudentsT t(moderated.degrees);
  Decision decision;
  decision.p_slower = boost::math::cdf(boost::math::complement(t, (effect.mean - effect.margin) / error));
  decision.p_faster = boost::math::cdf(t, (effect.mean + effect.margin) / error);
  decision.ci95 = {effect.mean - quantiles.q975 * error, effect.mean + quantiles.q975 * error};
  decision.detectable_change = effect.margin + (quantiles.q95 + quantiles.q80) * error;
  if (std::abs(effect.mean) + quantiles.within * error < effect.margin) decision.outcome = Outcome::same;
  return decision;
}

}  // namespace

Effect paired_effect(std::span<const double> differences, double margin) {
  const std::vector<double> values = winsorised(differences);
  Effect effect;
  effect.estimate = hodges_lehmann(differences);
  effect.mean = mean_of(values);
  effect.degrees = static_cast<double>(values.size()) - 1;
  effect.sd = std::sqrt(sum_of_squares(values, effect.mean) / effect.degrees);
  effect.error_per_sd = 1 / std::sqrt(static_cast<double>(values.size()));
  effect.margin = margin;
  return effect;
}

Effect unpaired_effect(std::span<const double> next, std::span<const double> base, double margin) {
  const std::vector<double> a = winsorised(next);
  const std::vector<double> b = winsorised(base);
  const double mean_a = mean_of(a);
  const double mean_b = mean_of(b);
  const auto size_a = static_cast<double>(a.size());
  const auto size_b = static_cast<double>(b.size());
  Effect effect;
  effect.estimate = hodges_lehmann_shift(next, base);
  effect.mean = mean_a - mean_b;
  effect.degrees = size_a + size_b - 2;
  effect.sd = std::sqrt((sum_of_squares(a, mean_a) + sum_of_squares(b, mean_b)) / effect.degrees);
  effect.error_per_sd = std::sqrt(1 / size_a + 1 / size_b);
  effect.margin = margin;
  return effect;
}

Effect shifted(Effect effect, double by) {
  effect.estimate += by;
  effect.mean += by;
  return effect;
}

std::vector<Decision> decide(std::span<const Effect> effects, const DecisionOptions& options) {
  const double shared = effects.size() >= kMinCasesToShare ? options.shared_degrees : 0;
  const double common = common_sd(effects);
  std::vector<Decision> decisions;
  std::vector<double> slower;
  std::vector<double> faster;
  Quantiles quantiles(options.level);
  for (const Effect& effect : effects) {
    const Moderated moderated = moderate(effect, common, shared);
    decisions.push_back(test(effect, moderated, quantiles.at(moderated.degrees)));
    slower.push_back(decisions.back().p_slower);
    faster.push_back(decisions.back().p_faster);
  }
  const std::vector<bool> regressed = step_up(slower, options.level, options.dependence);
  const std::vector<bool> improved = step_up(faster, options.level, options.dependence);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (regressed[i]) decisions[i].outcome = Outcome::regressed;
    if (improved[i]) decisions[i].outcome = Outcome::improved;
  }
  return decisions;
}

}  // namespace mla::reports::statistics
