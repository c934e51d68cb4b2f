#include "harness/suite/pairwise.hpp"

#include <algorithm>
#include <optional>

namespace mla::harness {

namespace {

using Allowed = std::function<bool(const AxisRow&)>;

struct Pair {
  std::size_t axis_a, value_a, axis_b, value_b;
};

// Which pairs still need a row; indexed so that testing one is a single lookup.
class PairSet {
 public:
  explicit PairSet(const std::vector<std::size_t>& sizes) : sizes_(sizes) {
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) open_.emplace_back(sizes[a] * sizes[b], true);
    }
  }

  [[nodiscard]] bool is_open(const Pair& pair) const { return open_[table(pair)][cell(pair)]; }
  void close(const Pair& pair) { open_[table(pair)][cell(pair)] = false; }

  [[nodiscard]] std::size_t gain(const AxisRow& row) const {
    std::size_t count = 0;
    for_each_pair(row, [&](const Pair& pair) { count += is_open(pair) ? 1 : 0; });
    return count;
  }

  void close_all(const AxisRow& row) {
    for_each_pair(row, [&](const Pair& pair) { close(pair); });
  }

 private:
  template <class Visitor>
  static void for_each_pair(const AxisRow& row, Visitor&& visit) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) visit(Pair{a, row[a], b, row[b]});
    }
  }

  [[nodiscard]] std::size_t table(const Pair& pair) const {
    const std::size_t n = sizes_.size();
    return pair.axis_a * (2 * n - pair.axis_a - 1) / 2 + (pair.axis_b - pair.axis_a - 1);
  }
  [[nodiscard]] std::size_t cell(const Pair& pair) const { return pair.value_a * sizes_[pair.axis_b] + pair.value_b; }

  const std::vector<std::size_t>& sizes_;
  std::vector<std::vector<bool>> open_;
};

// splitmix64 (Steele, Lea, Flood 2014): candidates must not depend on the C++ library's distributions.
class CandidateSource {
 public:
  std::size_t below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }

 private:
  std::uint64_t state_ = 0;
};

AxisRow random_row(const std::vector<std::size_t>& sizes, const Pair& pair, CandidateSource& source) {
  AxisRow row(sizes.size());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) row[axis] = source.below(sizes[axis]);
  row[pair.axis_a] = pair.value_a;
  row[pair.axis_b] = pair.value_b;
  return row;
}

// Counts `row` up with the pair's two axes held; false after the last row.
bool advance(AxisRow& row, const std::vector<std::size_t>& sizes, const Pair& pair) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (axis == pair.axis_a || axis == pair.axis_b) continue;
    if (++row[axis] < sizes[axis]) return true;
    row[axis] = 0;
  }
  return false;
}

std::optional<AxisRow> first_allowed(const std::vector<std::size_t>& sizes, const Pair& pair, const Allowed& allowed) {
  constexpr int kMostCompletions = 4096;
  AxisRow row(sizes.size(), 0);
  row[pair.axis_a] = pair.value_a;
  row[pair.axis_b] = pair.value_b;
  for (int tried = 0; tried < kMostCompletions; ++tried) {
    if (allowed(row)) return row;
    if (!advance(row, sizes, pair)) break;
  }
  return std::nullopt;
}

// The allowed row through `pair` that covers most pairs still open, out of a handful.
std::optional<AxisRow> best_row(const std::vector<std::size_t>& sizes, const Pair& pair, const PairSet& pairs,
                                CandidateSource& source, const Allowed& allowed) {
  constexpr int kCandidates = 48;
  std::vector<std::pair<std::size_t, AxisRow>> candidates;
  for (int i = 0; i < kCandidates; ++i) {
    AxisRow row = random_row(sizes, pair, source);
    const std::size_t gain = pairs.gain(row);
    candidates.emplace_back(gain, std::move(row));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [gain, row] : candidates) {
    if (allowed(row)) return std::move(row);
  }
  return first_allowed(sizes, pair, allowed);
}

}  // namespace

std::vector<AxisRow> full_product(const std::vector<std::size_t>& sizes, const Allowed& allowed) {
  std::vector<AxisRow> rows;
  AxisRow row(sizes.size(), 0);
  while (true) {
    if (allowed(row)) rows.push_back(row);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++row[axis - 1] == sizes[axis - 1]) row[--axis] = 0;
    if (axis == 0) return rows;
  }
}

std::vector<AxisRow> all_pairs(const std::vector<std::size_t>& sizes, const Allowed& allowed) {
  if (sizes.size() < 2) return full_product(sizes, allowed);
  PairSet pairs(sizes);
  CandidateSource source;
  std::vector<AxisRow> rows;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) {
      for (std::size_t cell = 0; cell < sizes[a] * sizes[b]; ++cell) {
        const Pair pair{a, cell / sizes[b], b, cell % sizes[b]};
        if (!pairs.is_open(pair)) continue;
        if (auto row = best_row(sizes, pair, pairs, source, allowed)) {
          pairs.close_all(*row);
          rows.push_back(std::move(*row));
        }
      }
    }
  }
  return rows;
}

}  // namespace mla::harness
