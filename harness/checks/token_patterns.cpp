#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/checks/patterns.hpp"

namespace mla::harness::checks {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

// A projection of the residual, over several rows.
struct Fit {
  double dot = 0;   // residual . direction, in units of noise
  double norm = 0;  // |direction|^2
  [[nodiscard]] double captured() const { return norm > 0 ? dot * dot / norm : 0; }
  [[nodiscard]] double coefficient() const { return norm > 0 ? dot / norm : 0; }
  /// Standard deviations from no effect at all.
  [[nodiscard]] double significance() const { return norm > 0 ? std::abs(dot) / std::sqrt(norm) : 0; }
};

// What is true of a set of tokens in each row.
struct Weighted {
  double weight = 0;  // mean over the rows that see it
  int rows = 0;
};

// f: how many times the set is counted, from the coefficient of a set with mean weight w.
double times_counted(double coefficient, double weight, bool outside) {
  const double denominator = 1 - coefficient * weight;
  if (std::abs(denominator) < 1e-9) return 0;
  return (outside ? 0 : 1) + coefficient / denominator;
}

std::string count_text(double times) {
  if (std::abs(times) < 0.25) return "has no weight";
  if (std::abs(times - 2) < 0.25) return "is counted twice";
  return fmt::format("weighs {:.3g} times what it should", times);
}

// Whether the lse moved as the weights say it must.
std::string lse_text(const Evidence& evidence, double times, double weight, bool outside) {
  const double expected = std::log1p((times - (outside ? 0 : 1)) * weight);
  const double got = evidence.lse_error();
  if (std::abs(got - expected) < 0.2 * std::abs(expected) + 1e-6) {
    return fmt::format("lse agrees ({:+.2e})", got);
  }
  return fmt::format("lse is off by {:+.2e} where {:+.2e} would follow", got, expected);
}

// Residual against every token: p_k (v_k - O). Index 0 is the context's first token, or with `from_end` the one that
// a row sees last; tokens beyond a row's view then have negative indices, moved up by `beyond`.
class TokenSearch {
 public:
  TokenSearch(const Evidence& evidence, bool from_end) : evidence_(evidence), from_end_(from_end) {
    const Index tokens = static_cast<Index>(evidence.tokens());
    fits_.resize(static_cast<std::size_t>(tokens + kBeyond));
    weights_.resize(fits_.size());
    const VectorXd norms = evidence.values().colwise().squaredNorm().cast<double>().transpose();
    for (const Evidence::Row& row : evidence.rows()) add(row, norms);
  }

  static constexpr Index kBeyond = 8;  // the contract's most query tokens

  // Of the tokens whose weight is wrong in a way that kernels have, the one that accounts for most: with few tokens,
  // that one of them is lost might as well be that another weighs a million times too much.
  [[nodiscard]] std::optional<Index> best() const {
    constexpr double kMost = 4;
    std::optional<Index> found;
    for (Index i = 0; i < std::ssize(fits_); ++i) {
      const double counted = times(i);
      if (fit(i).norm == 0 || counted < -0.5 || counted > kMost) continue;
      if (!found || fit(i).captured() > fit(*found).captured()) found = i;
    }
    return found;
  }
  [[nodiscard]] bool outside(Index i) const { return from_end_ && i < kBeyond; }
  [[nodiscard]] double times(Index i) const { return times_counted(fit(i).coefficient(), weight(i), outside(i)); }
  [[nodiscard]] const Fit& fit(Index i) const { return fits_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double weight(Index i) const {
    const Weighted& w = weights_[static_cast<std::size_t>(i)];
    return w.rows > 0 ? w.weight / w.rows : 0;
  }

 private:
  [[nodiscard]] Index index_of(const Evidence::Row& row, Index token) const {
    return from_end_ ? static_cast<Index>(row.visible) - 1 - token + kBeyond : token;
  }

  void add(const Evidence::Row& row, const VectorXd& norms) {
    const VectorXd error = row.got - row.ref;
    const double unit = 1 / (row.state.noise * row.state.noise);
    const VectorXd along = (evidence_.values().transpose() * error.cast<float>()).cast<double>();
    const VectorXd with_ref = (evidence_.values().transpose() * row.ref.cast<float>()).cast<double>();
    const VectorXd weights = row.weights();
    const double error_ref = error.dot(row.ref);
    const double ref_norm = row.ref.squaredNorm();
    for (Index token = 0; token < weights.size(); ++token) {
      const Index i = index_of(row, token);
      if (i < 0 || i >= std::ssize(fits_)) continue;
      if (!from_end_ && token >= row.visible) continue;
      const double w = weights[token];
      Fit& fit = fits_[static_cast<std::size_t>(i)];
      fit.dot += unit * w * (along[token] - error_ref);
      fit.norm += unit * w * w * (norms[token] - 2 * with_ref[token] + ref_norm);
      weights_[static_cast<std::size_t>(i)].weight += w;
      ++weights_[static_cast<std::size_t>(i)].rows;
    }
  }

  const Evidence& evidence_;
  bool from_end_;
  std::vector<Fit> fits_;
  std::vector<Weighted> weights_;
};

// Among so many directions one fits by chance to a few deviations.
constexpr double kSignificant = 7;

void add_token(const Evidence& evidence, std::vector<Pattern>& patterns) {
  const TokenSearch search(evidence, false);
  const auto best = search.best();
  if (!best || search.fit(*best).significance() < kSignificant) return;
  const double weight = search.weight(*best);
  const double times = search.times(*best);
  patterns.push_back({"token",
                      fmt::format("{} {}, {}", evidence.token_text(*best), count_text(times),
                                  lse_text(evidence, times, weight, false)),
                      evidence.share(search.fit(*best).captured()), 1});
}

// Faults that move with the end of each row's view.
void add_end(const Evidence& evidence, std::vector<Pattern>& patterns) {
  const TokenSearch search(evidence, true);
  const auto best = search.best();
  if (!best || search.fit(*best).significance() < kSignificant) return;
  const Index from_end = *best - TokenSearch::kBeyond;
  const bool outside = search.outside(*best);
  if (from_end > 1) return;
  const double weight = search.weight(*best);
  const double times = search.times(*best);
  const std::string which = outside         ? fmt::format("token {} past the last that a row may see", -from_end)
                            : from_end == 0 ? "the last token that a row sees"
                                            : "the last token but one that a row sees";
  const std::string what = outside && std::abs(times - 1) < 0.25 ? "is not masked" : count_text(times);
  patterns.push_back({"mask", fmt::format("{} {}, {}", which, what, lse_text(evidence, times, weight, outside)),
                      evidence.share(search.fit(*best).captured()), 0.9});
}

// Contiguous sets of tokens, in units of a granule.
class RangeSearch {
 public:
  enum class Kind : std::uint8_t { weight, values };  // which of the two directions of patterns.hpp

  explicit RangeSearch(const Evidence& evidence) : evidence_(evidence) {
    granule_ = std::clamp(evidence.problem().fields().page_size, 16, 64);
    while (evidence.tokens() > granule_ * kMostGranules) granule_ *= 2;
    granules_ = static_cast<Index>((evidence.tokens() + granule_ - 1) / granule_);
    for (const Evidence::Row& row : evidence.rows()) rows_.push_back(prefix_sums(row));
  }

  struct Range {
    Index begin = 0;
    Index end = 0;  // in granules
    Kind kind = Kind::weight;
    Fit fit;
    double weight = 0;
  };

  [[nodiscard]] std::int64_t first_token(const Range& range) const { return range.begin * granule_; }
  [[nodiscard]] std::int64_t end_token(const Range& range) const {
    return std::min<std::int64_t>(range.end * granule_, evidence_.tokens());
  }

  // The range whose weight or values, wrong together, account for most of the residual less what `other` accounts for.
  [[nodiscard]] Range best(const Range* other) const {
    Range found;
    std::vector<VectorXd> rest;
    for (std::size_t i = 0; i < rows_.size(); ++i) rest.push_back(residual(i, other));
    for (Index begin = 0; begin < granules_; ++begin) {
      for (Index end = begin + 1; end <= granules_; ++end) {
        if (end - begin == granules_) continue;  // everything: a gain, which has a name of its own
        for (const Kind kind : {Kind::weight, Kind::values}) {
          const Range range = fit(begin, end, kind, rest);
          if (range.fit.captured() > found.fit.captured()) found = range;
        }
      }
    }
    return found;
  }

 private:
  static constexpr int kMostGranules = 128;

  struct Sums {
    Eigen::MatrixXd values;  // [512, granules + 1] prefix sums of w_k v_k
    VectorXd weights;        // [granules + 1]
  };

  [[nodiscard]] Sums prefix_sums(const Evidence::Row& row) const {
    Sums sums{Eigen::MatrixXd::Zero(kValueDim, granules_ + 1), VectorXd::Zero(granules_ + 1)};
    VectorXd weights = row.weights();
    weights.tail(weights.size() - static_cast<Index>(row.visible)).setZero();
    for (Index g = 0; g < granules_; ++g) {
      const Index begin = g * granule_;
      const Index count = std::min<Index>(granule_, weights.size() - begin);
      const Eigen::VectorXf w = weights.segment(begin, count).cast<float>();
      sums.values.col(g + 1) = sums.values.col(g) + (evidence_.values().middleCols(begin, count) * w).cast<double>();
      sums.weights[g + 1] = sums.weights[g] + weights.segment(begin, count).sum();
    }
    return sums;
  }

  [[nodiscard]] VectorXd direction(std::size_t row, const Range& range) const {
    const Sums& sums = rows_[row];
    VectorXd result = sums.values.col(range.end) - sums.values.col(range.begin);
    if (range.kind == Kind::weight) {
      result -= (sums.weights[range.end] - sums.weights[range.begin]) * evidence_.rows()[row].ref;
    }
    return result;
  }

  [[nodiscard]] VectorXd residual(std::size_t row, const Range* other) const {
    const Evidence::Row& state = evidence_.rows()[row];
    VectorXd result = state.got - state.ref;
    if (other != nullptr) result -= other->fit.coefficient() * direction(row, *other);
    return result;
  }

  [[nodiscard]] Range fit(Index begin, Index end, Kind kind, const std::vector<VectorXd>& rest) const {
    Range range{begin, end, kind, {}, 0};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double noise = evidence_.rows()[i].state.noise;
      const VectorXd along = direction(i, range);
      range.fit.dot += rest[i].dot(along) / (noise * noise);
      range.fit.norm += along.squaredNorm() / (noise * noise);
      range.weight += (rows_[i].weights[end] - rows_[i].weights[begin]) / static_cast<double>(rows_.size());
    }
    return range;
  }

  const Evidence& evidence_;
  int granule_ = 64;
  Index granules_ = 0;
  std::vector<Sums> rows_;
};

std::string range_text(const Evidence& evidence, const RangeSearch& search, const RangeSearch::Range& range) {
  const std::int64_t begin = search.first_token(range);
  const std::int64_t end = search.end_token(range);
  const std::int64_t page = evidence.problem().fields().page_size;
  const std::string tokens = fmt::format("tokens {} to {} of {}", begin, end - 1, evidence.tokens());
  if (begin % page == 0 && (end - begin == page || (end == evidence.tokens() && end - begin < page))) {
    return fmt::format("{}page {} ({})", end == evidence.tokens() ? "the last page, " : "", begin / page, tokens);
  }
  return tokens;
}

bool is_page(const Evidence& evidence, const RangeSearch& search, const RangeSearch::Range& range) {
  return search.end_token(range) - search.first_token(range) <= evidence.problem().fields().page_size;
}

std::string range_clause(const Evidence& evidence, const RangeSearch& search, const RangeSearch::Range& range) {
  const std::string text = range_text(evidence, search, range);
  if (range.kind == RangeSearch::Kind::values) {
    const double coefficient = range.fit.coefficient();
    if (std::abs(coefficient + 1) < 0.15) return "the output lacks what " + text + " contribute, and lse does not";
    return fmt::format("what {} contribute to the output is {:.3g} times what it should be", text, 1 + coefficient);
  }
  const double times = times_counted(range.fit.coefficient(), range.weight, false);
  return fmt::format("{} {}, {}", text, count_text(times), lse_text(evidence, times, range.weight, false));
}

}  // namespace

void add_token_patterns(const Evidence& evidence, std::vector<Pattern>& patterns) {
  add_token(evidence, patterns);
  add_end(evidence, patterns);
}

void add_range_patterns(const Evidence& evidence, std::vector<Pattern>& patterns) {
  const RangeSearch search(evidence);
  const RangeSearch::Range first = search.best(nullptr);
  if (first.fit.significance() < kSignificant) return;
  const double alone = evidence.share(first.fit.captured());
  const bool page = is_page(evidence, search, first);
  patterns.push_back({page ? "page" : "range", range_clause(evidence, search, first), alone, 1.5});
  if (alone > 0.9) return;

  const RangeSearch::Range second = search.best(&first);
  const double both = evidence.share(first.fit.captured() + second.fit.captured());
  if (second.fit.significance() > kSignificant && both > alone + 0.2) {
    patterns.push_back({page ? "page" : "range",
                        range_text(evidence, search, first) + " " +
                            count_text(times_counted(first.fit.coefficient(), first.weight, false)) + " and " +
                            range_text(evidence, search, second) + " " +
                            count_text(times_counted(second.fit.coefficient(), second.weight, false)),
                        both, 2});
  }
  // Something else stands where the values belong: their own share is missing in full, and the rest fits nothing.
  const double missing = first.fit.coefficient();
  if (missing > -1.3 && missing < -0.4 && alone > 0.2) {
    patterns.push_back({page ? "page" : "range",
                        fmt::format("in place of what {} contribute the output holds something else",
                                    range_text(evidence, search, first)),
                        0.8, 2});
  }
}

}  // namespace mla::harness::checks
