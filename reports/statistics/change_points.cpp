#include "reports/statistics/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "reports/statistics/median.hpp"

namespace mla::reports::statistics {
namespace {

constexpr double kOutlier = 4;        // deviations, in s, cost no more than this one does
constexpr double kLeastPenalty = 17;  // above kOutlier^2, so that no single value is worth a change of its own

double scatter(std::span<const double> values, double floor) {
  if (values.size() < 2) return floor;
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  return std::max(floor, 1.4826 * median(std::move(steps)) / std::sqrt(2.0));
}

/// Cost of the series so far as a function of the level of its last segment, on [low, high]: a x^2 + b x + c.
struct Piece {
  double low;
  double high;
  double a;
  double b;
  double c;
  std::size_t start;  // of the last segment

  [[nodiscard]] double at(double x) const { return (a * x + b) * x + c; }
  [[nodiscard]] double lowest() const {
    return a > 0 ? at(std::clamp(-b / (2 * a), low, high)) : std::min(at(low), at(high));
  }
};

/// A function of the last level, as pieces from left to right without gaps.
class LevelCost {
 public:
  LevelCost(double low, double high) : pieces_{{low, high, 0, 0, 0, 0}} {}

  /// The least cost, and where its last segment starts.
  [[nodiscard]] std::pair<double, std::size_t> best() const {
    std::pair<double, std::size_t> result{std::numeric_limits<double>::infinity(), 0};
    for (const Piece& piece : pieces_) {
      if (const double lowest = piece.lowest(); lowest < result.first) result = {lowest, piece.start};
    }
    return result;
  }

  /// Where a new segment from `start` on, at any level for `cost`, is cheaper than going on, it takes over.
  void offer_new_segment(double cost, std::size_t start) {
    std::vector<Piece> next;
    for (const Piece& piece : pieces_) {
      // The piece is convex: it is below the cost between two crossings, if anywhere.
      double from = piece.high;
      double to = piece.low;
      if (piece.a > 0) {
        const double square = piece.b * piece.b - 4 * piece.a * (piece.c - cost);
        if (square > 0) {
          from = std::max(piece.low, (-piece.b - std::sqrt(square)) / (2 * piece.a));
          to = std::min(piece.high, (-piece.b + std::sqrt(square)) / (2 * piece.a));
        }
      } else if (piece.c <= cost) {  // without values that are not outliers a piece is constant
        from = piece.low;
        to = piece.high;
      }
      if (from >= to) {
        append(next, {piece.low, piece.high, 0, 0, cost, start});
        continue;
      }
      append(next, {piece.low, from, 0, 0, cost, start});
      append(next, {from, to, piece.a, piece.b, piece.c, piece.start});
      append(next, {to, piece.high, 0, 0, cost, start});
    }
    pieces_ = std::move(next);
  }

  void add(double value) {
    std::vector<Piece> next;
    for (const Piece& piece : pieces_) {
      const double left = std::clamp(value - kOutlier, piece.low, piece.high);
      const double right = std::clamp(value + kOutlier, piece.low, piece.high);
      const double most = kOutlier * kOutlier;
      append(next, {piece.low, left, piece.a, piece.b, piece.c + most, piece.start});
      append(next, {left, right, piece.a + 1, piece.b - 2 * value, piece.c + value * value, piece.start});
      append(next, {right, piece.high, piece.a, piece.b, piece.c + most, piece.start});
    }
    pieces_ = std::move(next);
  }

 private:
  static void append(std::vector<Piece>& pieces, const Piece& piece) {
    if (piece.low >= piece.high) return;
    if (!pieces.empty()) {
      Piece& last = pieces.back();
      if (last.start == piece.start && last.a == piece.a && last.b == piece.b && last.c == piece.c) {
        last.high = piece.high;
        return;
      }
    }
    pieces.push_back(piece);
  }

  std::vector<Piece> pieces_;
};

/// First values of the segments of the cheapest function. `values` in units of their scatter, around 0.
std::vector<std::size_t> cheapest(const std::vector<double>& values) {
  const double penalty = std::max(3 * std::log(static_cast<double>(values.size())), kLeastPenalty);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return {0};
  LevelCost cost(*low, *high);
  std::vector<std::size_t> start_of_last(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) cost.offer_new_segment(cost.best().first + penalty, i);
    cost.add(values[i]);
    start_of_last[i] = cost.best().second;
  }
  std::vector<std::size_t> starts;
  for (std::size_t start = start_of_last.back();; start = start_of_last[start - 1]) {
    starts.push_back(start);
    if (start == 0) break;
  }
  std::reverse(starts.begin(), starts.end());
  return starts;
}

double level_of(std::span<const double> values, std::size_t first, std::size_t last) {
  const auto part = values.subspan(first, last - first);
  return median({part.begin(), part.end()});
}

/// By how much each step, at the beginning of segment i + 1, exceeds what it must.
std::vector<double> excesses(const std::vector<Segment>& segments, std::size_t count, double unit,
                             const ChangePointOptions& options) {
  const auto length = [&](std::size_t i) {
    const std::size_t last = i + 1 < segments.size() ? segments[i + 1].first : count;
    return static_cast<double>(last - segments[i].first);
  };
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const double error = unit * std::sqrt(1 / length(i) + 1 / length(i + 1));
    const double step = std::abs(segments[i + 1].level - segments[i].level);
    result.push_back(step - options.smallest_step - options.sureness * error);
  }
  return result;
}

void remove_small_steps(std::span<const double> values, double unit, const ChangePointOptions& options,
                        std::vector<Segment>& segments) {
  while (segments.size() > 1) {
    const std::vector<double> excess = excesses(segments, values.size(), unit, options);
    const auto least = std::min_element(excess.begin(), excess.end());
    if (*least >= 0) return;
    const auto at = static_cast<std::size_t>(least - excess.begin());
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    const std::size_t last = at + 1 < segments.size() ? segments[at + 1].first : values.size();
    segments[at].level = level_of(values, segments[at].first, last);
  }
}

}  // namespace

std::vector<Segment> segments(std::span<const double> values, const ChangePointOptions& options) {
  if (values.empty()) return {};
  const double unit = scatter(values, options.noise_floor);
  const double middle = median({values.begin(), values.end()});
  // Squares of numbers around 0 in units of the scatter keep all their digits.
  std::vector<double> scaled;
  for (const double value : values) scaled.push_back((value - middle) / unit);
  const std::vector<std::size_t> starts = cheapest(scaled);

  std::vector<Segment> result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t last = i + 1 < starts.size() ? starts[i + 1] : values.size();
    result.push_back({starts[i], level_of(values, starts[i], last)});
  }
  remove_small_steps(values, unit, options, result);
  return result;
}

}  // namespace mla::reports::statistics
