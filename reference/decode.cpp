// Flash decoding in double precision. Work is cut by fixed sizes and partial sums are folded in a fixed order, so that
// the result is the same bit for bit whatever the number of threads.
//
// No score is ever masked: tokens are cut into blocks which every row of the block's row range sees in full. A masked
// score would still multiply its V row by zero, and zero times a NaN would leak into a row that must not see it.
#include "reference/decode.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include <Eigen/Core>

#include "reference/widen.hpp"

namespace mla::reference {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;  // column-major: one column a token or a row, so that gathering writes contiguously
using Vector = Eigen::VectorXd;

// A block of tokens and its absolute values and squares (3 x 576 KiB) stay in a core's L2 cache next to the row sums.
constexpr std::int64_t kBlockTokens = 128;
constexpr std::int64_t kTileRows = 64;
// A share is what one thread does at a time: long enough that folding its sums costs nothing, and at most 64 of them
// a tile, so that one long request still fills a large machine.
constexpr std::int64_t kShareTokens = 1024;
constexpr std::int64_t kMaxShares = 64;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

/// One request's part of the inputs.
struct Request {
  const DecodeInputs& inputs;
  std::int32_t index;

  [[nodiscard]] std::int64_t first_token() const { return inputs.batch.qo_indptr[index]; }
  [[nodiscard]] std::int64_t queries() const { return inputs.batch.query_length(index); }
  [[nodiscard]] std::int64_t rows() const { return queries() * inputs.heads; }
  [[nodiscard]] std::int64_t kv_length() const { return inputs.batch.kv_length(index, inputs.kv.page_size); }

  /// Number of tokens, from the first one on, that query row `query` sees; does not decrease with `query`.
  [[nodiscard]] std::int64_t visible(std::int64_t query) const {
    if (!inputs.causal) return kv_length();
    return std::max<std::int64_t>(0, kv_length() - queries() + query + 1);
  }
};

/// Sums of some rows over some of their tokens, every exponential relative to the row's `maximum`.
struct Sums {
  Vector maximum;         // [rows]       max s
  Vector exponential;     // [rows]       sum e^(s-max)
  Vector square;          // [rows]       sum e^2(s-max)
  Vector magnitude;       // [rows]       max_k sum_i |q_i k_i|
  Matrix value;           // [512, rows]  sum e^(s-max) v
  Matrix value_abs;       // [512, rows]  sum e^(s-max) |v|
  Matrix value_square;    // [512, rows]  sum e^2(s-max) v^2
  Matrix unweighted_abs;  // [512, owned queries]  sum |v|

  Sums(Index rows, Index queries)
      : maximum(Vector::Constant(rows, kMinusInfinity)),
        exponential(Vector::Zero(rows)),
        square(Vector::Zero(rows)),
        magnitude(Vector::Zero(rows)),
        value(Matrix::Zero(kValueDim, rows)),
        value_abs(Matrix::Zero(kValueDim, rows)),
        value_square(Matrix::Zero(kValueDim, rows)),
        unweighted_abs(Matrix::Zero(kValueDim, queries)) {}

  void raise_maximum(Index row, double new_maximum) {
    if (new_maximum == maximum[row]) return;
    const double factor = std::exp(maximum[row] - new_maximum);
    maximum[row] = new_maximum;
    exponential[row] *= factor;
    square[row] *= factor * factor;
    value.col(row) *= factor;
    value_abs.col(row) *= factor;
    value_square.col(row) *= factor * factor;
  }

  /// Adds the sums of the same rows over other tokens.
  void fold(const Sums& other) {
    for (Index row = 0; row < maximum.size(); ++row) {
      if (other.maximum[row] == kMinusInfinity && other.exponential[row] == 0) continue;  // saw no token
      raise_maximum(row, std::max(maximum[row], other.maximum[row]));
      const double factor = std::exp(other.maximum[row] - maximum[row]);
      exponential[row] += factor * other.exponential[row];
      square[row] += factor * factor * other.square[row];
      magnitude[row] = std::max(magnitude[row], other.magnitude[row]);
      value.col(row) += factor * other.value.col(row);
      value_abs.col(row) += factor * other.value_abs.col(row);
      value_square.col(row) += factor * factor * other.value_square.col(row);
    }
    unweighted_abs += other.unweighted_abs;
  }
};

/// Up to `kTileRows` rows of one request. Threads deliver the sums of its shares of tokens in any order; they are
/// folded in token order, and the one that completes the tile writes its results.
class Tile {
 public:
  Tile(Request request, std::int64_t first_row, std::int64_t rows)
      : request_(request), first_row_(first_row), rows_(rows) {
    const std::int64_t shares = std::clamp<std::int64_t>(divide_up(tokens(), kShareTokens), 1, kMaxShares);
    share_tokens_ = divide_up(divide_up(tokens(), shares), kBlockTokens) * kBlockTokens;
    waiting_.resize(static_cast<std::size_t>(share_tokens_ == 0 ? 1 : divide_up(tokens(), share_tokens_)));
  }

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t shares() const { return static_cast<std::int64_t>(waiting_.size()); }
  [[nodiscard]] std::int64_t share_begin(std::int64_t share) const { return share * share_tokens_; }
  [[nodiscard]] std::int64_t share_end(std::int64_t share) const {
    return std::min((share + 1) * share_tokens_, tokens());
  }

  /// Query row and head of row `row` of the tile; rows run over the heads first.
  [[nodiscard]] std::int64_t query_of(std::int64_t row) const { return (first_row_ + row) / request_.inputs.heads; }
  [[nodiscard]] std::int64_t head_of(std::int64_t row) const { return (first_row_ + row) % request_.inputs.heads; }
  [[nodiscard]] std::int64_t last_query() const { return query_of(rows_ - 1); }

  /// The sums over V alone do not depend on the head: the tile with a query's first head owns them.
  [[nodiscard]] std::int64_t first_owned_query() const { return divide_up(first_row_, request_.inputs.heads); }
  [[nodiscard]] std::int64_t owned_queries() const { return last_query() + 1 - first_owned_query(); }

  /// First row of the tile that belongs to `query` or a later one.
  [[nodiscard]] std::int64_t first_row_of(std::int64_t query) const {
    return std::max<std::int64_t>(0, query * request_.inputs.heads - first_row_);
  }

  void deliver(std::int64_t share, Sums sums, const DecodeOracle& oracle) {
    const std::lock_guard lock(mutex_);
    waiting_[static_cast<std::size_t>(share)] = std::move(sums);
    for (; folded_ < waiting_.size() && waiting_[folded_]; ++folded_) {
      if (!total_) {
        total_ = std::move(waiting_[folded_]);
      } else {
        total_->fold(*waiting_[folded_]);
      }
      waiting_[folded_].reset();
    }
    if (folded_ < waiting_.size()) return;
    for (std::int64_t row = 0; row < rows_; ++row) write_row(row, oracle);
    for (std::int64_t i = 0; i < owned_queries(); ++i) write_unweighted_abs(i, oracle);
    total_.reset();
  }

 private:
  /// Tokens that at least one row of the tile sees.
  [[nodiscard]] std::int64_t tokens() const { return request_.visible(last_query()); }

  void write_row(std::int64_t row, const DecodeOracle& oracle) const {
    const Sums& sums = *total_;
    const std::int64_t visible = request_.visible(query_of(row));
    const double kv_scale = static_cast<double>(request_.inputs.kv_scale);
    const double scale =
        static_cast<double>(request_.inputs.sm_scale) * static_cast<double>(request_.inputs.q_scale) * kv_scale;
    // A row that sees nothing has sums of zero: dividing them by 1 gives the defined result.
    const double sum = visible == 0 ? 1 : sums.exponential[row];
    const double value_factor = kv_scale / sum;

    const auto r = static_cast<std::size_t>(request_.first_token() * request_.inputs.heads + first_row_ + row);
    oracle.visible[r] = visible;
    oracle.lse[r] = visible == 0 ? kMinusInfinity : sums.maximum[row] + std::log(sum);
    oracle.probability_max[r] = visible == 0 ? 0.0F : static_cast<float>(1 / sum);
    oracle.probability_square_sum[r] = static_cast<float>(sums.square[row] / (sum * sum));
    oracle.logit_magnitude[r] = static_cast<float>(sums.magnitude[row] * std::abs(scale));
    for (Index d = 0; d < kValueDim; ++d) {
      const std::size_t element = r * kValueDim + static_cast<std::size_t>(d);
      oracle.out[element] = sums.value(d, row) * value_factor;
      oracle.abs_sum[element] = static_cast<float>(sums.value_abs(d, row) * std::abs(value_factor));
      oracle.square_sum[element] = static_cast<float>(sums.value_square(d, row) * value_factor * value_factor);
    }
  }

  void write_unweighted_abs(std::int64_t owned, const DecodeOracle& oracle) const {
    const auto token = static_cast<std::size_t>(request_.first_token() + first_owned_query() + owned);
    const double factor = std::abs(static_cast<double>(request_.inputs.kv_scale));
    for (Index d = 0; d < kValueDim; ++d) {
      oracle.value_abs_sum[token * kValueDim + static_cast<std::size_t>(d)] =
          static_cast<float>(total_->unweighted_abs(d, owned) * factor);
    }
  }

  Request request_;
  std::int64_t first_row_;  // within the request
  std::int64_t rows_;
  std::int64_t share_tokens_ = 0;

  std::mutex mutex_;
  std::vector<std::optional<Sums>> waiting_;  // delivered, not yet folded
  std::size_t folded_ = 0;
  std::optional<Sums> total_;
};

/// The buffers of one thread.
class Worker {
 public:
  Worker()
      : keys_(kHeadDim, kBlockTokens),
        keys_abs_(kHeadDim, kBlockTokens),
        values_square_(kValueDim, kBlockTokens),
        scores_(kBlockTokens, kTileRows),
        magnitudes_(kBlockTokens, kTileRows),
        squares_(kBlockTokens, kTileRows) {}

  [[nodiscard]] Sums run(const Tile& tile, std::int64_t share) {
    load_queries(tile);
    Sums sums(tile.rows(), tile.owned_queries());
    const Request& request = tile.request();
    std::int64_t query = tile.query_of(0);  // the first one that sees token `begin`
    for (std::int64_t begin = tile.share_begin(share); begin < tile.share_end(share);) {
      while (request.visible(query) <= begin) ++query;
      // Cutting where this query's view ends lets all rows from it on see the whole block.
      const std::int64_t end = std::min({begin + kBlockTokens, tile.share_end(share), request.visible(query)});
      gather(request, begin, end);
      add_block(tile, query, sums);
      begin = end;
    }
    return sums;
  }

 private:
  void load_queries(const Tile& tile) {
    const Request& request = tile.request();
    const QueryView& q = request.inputs.q;
    queries_.resize(kHeadDim, tile.rows());
    for (std::int64_t row = 0; row < tile.rows(); ++row) {
      const std::int64_t offset =
          (request.first_token() + tile.query_of(row)) * q.token_stride + tile.head_of(row) * q.head_stride;
      widen(q.data, q.dtype, offset, {queries_.col(row).data(), static_cast<std::size_t>(kHeadDim)});
    }
    queries_abs_ = queries_.cwiseAbs();
  }

  void gather(const Request& request, std::int64_t begin, std::int64_t end) {
    const PagedKvView& kv = request.inputs.kv;
    const RaggedBatchView& batch = request.inputs.batch;
    const std::int32_t* pages = batch.kv_indices + batch.kv_indptr[request.index];
    tokens_ = end - begin;
    for (std::int64_t i = 0; i < tokens_; ++i) {
      const std::int64_t page = pages[(begin + i) / kv.page_size];
      const std::int64_t slot = (begin + i) % kv.page_size;
      widen(kv.data, kv.dtype, page * kv.page_stride + slot * kv.token_stride,
            {keys_.col(i).data(), static_cast<std::size_t>(kHeadDim)});
    }
    keys_abs_.leftCols(tokens_) = keys_.leftCols(tokens_).cwiseAbs();
    values_square_.leftCols(tokens_) = keys_.topLeftCorner(kValueDim, tokens_).cwiseAbs2();
  }

  /// Adds the gathered tokens to all rows of `first_query` and later.
  void add_block(const Tile& tile, std::int64_t first_query, Sums& sums) {
    const Index first = tile.first_row_of(first_query);
    const Index rows = tile.rows() - first;
    auto scores = scores_.topLeftCorner(tokens_, rows);
    auto magnitudes = magnitudes_.topLeftCorner(tokens_, rows);
    auto squares = squares_.topLeftCorner(tokens_, rows);
    scores.noalias() = keys_.leftCols(tokens_).transpose() * queries_.rightCols(rows);
    magnitudes.noalias() = keys_abs_.leftCols(tokens_).transpose() * queries_abs_.rightCols(rows);

    const DecodeInputs& inputs = tile.request().inputs;
    scores *= static_cast<double>(inputs.sm_scale) * static_cast<double>(inputs.q_scale) *
              static_cast<double>(inputs.kv_scale);
    for (Index i = 0; i < rows; ++i) {
      const Index row = first + i;
      sums.raise_maximum(row, std::max(sums.maximum[row], scores.col(i).maxCoeff()));
      for (Index k = 0; k < tokens_; ++k) scores(k, i) = std::exp(scores(k, i) - sums.maximum[row]);
      squares.col(i) = scores.col(i).cwiseAbs2();
      sums.exponential[row] += scores.col(i).sum();
      sums.square[row] += squares.col(i).sum();
      sums.magnitude[row] = std::max(sums.magnitude[row], magnitudes.col(i).maxCoeff());
    }
    sums.value.rightCols(rows).noalias() += keys_.topLeftCorner(kValueDim, tokens_) * scores;
    sums.value_abs.rightCols(rows).noalias() += keys_abs_.topLeftCorner(kValueDim, tokens_) * scores;
    sums.value_square.rightCols(rows).noalias() += values_square_.leftCols(tokens_) * squares;

    const std::int64_t hidden = std::max<std::int64_t>(0, first_query - tile.first_owned_query());
    if (hidden < tile.owned_queries()) {
      sums.unweighted_abs.rightCols(tile.owned_queries() - hidden).colwise() +=
          keys_abs_.topLeftCorner(kValueDim, tokens_).rowwise().sum();
    }
  }

  Matrix queries_;        // [576, rows]
  Matrix queries_abs_;    // [576, rows]
  Matrix keys_;           // [576, tokens]
  Matrix keys_abs_;       // [576, tokens]
  Matrix values_square_;  // [512, tokens]
  Matrix scores_;         // [tokens, rows], then the exponentials
  Matrix magnitudes_;     // [tokens, rows]
  Matrix squares_;        // [tokens, rows]
  Index tokens_ = 0;
};

std::deque<Tile> tiles_of(const DecodeInputs& inputs) {
  std::deque<Tile> tiles;
  for (std::int32_t b = 0; b < inputs.batch.batch; ++b) {
    const Request request{inputs, b};
    if (request.rows() <= 0) continue;
    const std::int64_t rows = divide_up(request.rows(), divide_up(request.rows(), kTileRows));
    for (std::int64_t first = 0; first < request.rows(); first += rows) {
      tiles.emplace_back(request, first, std::min(rows, request.rows() - first));
    }
  }
  return tiles;
}

// Hands out consecutive spans of one block of memory, each on a cache line of its own.
class Carver {
 public:
  explicit Carver(std::byte* memory) : memory_(memory) {}

  template <class T>
  std::span<T> take(std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    std::span<T> result;
    if (memory_ != nullptr) result = {static_cast<T*>(static_cast<void*>(memory_ + used_)), size};
    used_ += (size * sizeof(T) + 63) / 64 * 64;
    return result;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

DecodeOracle carve(Carver& carver, std::int64_t tokens, int heads) {
  const std::int64_t rows = tokens * heads;
  DecodeOracle oracle;
  oracle.rows = rows;
  oracle.out = carver.take<double>(rows * kValueDim);
  oracle.lse = carver.take<double>(rows);
  oracle.abs_sum = carver.take<float>(rows * kValueDim);
  oracle.square_sum = carver.take<float>(rows * kValueDim);
  oracle.value_abs_sum = carver.take<float>(tokens * kValueDim);
  oracle.logit_magnitude = carver.take<float>(rows);
  oracle.probability_max = carver.take<float>(rows);
  oracle.probability_square_sum = carver.take<float>(rows);
  oracle.visible = carver.take<std::int64_t>(rows);
  return oracle;
}

}  // namespace

std::size_t DecodeOracle::bytes(std::int64_t tokens, int heads) {
  Carver carver(nullptr);
  carve(carver, tokens, heads);
  return carver.used();
}

DecodeOracle DecodeOracle::over(std::span<std::byte> memory, std::int64_t tokens, int heads) {
  if (memory.size() < bytes(tokens, heads)) throw std::invalid_argument("memory: smaller than DecodeOracle::bytes");
  Carver carver(memory.data());
  return carve(carver, tokens, heads);
}

void decode(const DecodeInputs& inputs, const DecodeOracle& oracle) {
  if (oracle.rows != std::int64_t{inputs.batch.qo_indptr[inputs.batch.batch]} * inputs.heads) {
    throw std::invalid_argument("oracle.rows: must be qo_indptr[batch] * heads");
  }
  struct Share {
    Tile* tile;
    std::int64_t index;
  };
  std::deque<Tile> tiles = tiles_of(inputs);
  std::vector<Share> shares;
  for (Tile& tile : tiles) {
    for (std::int64_t i = 0; i < tile.shares(); ++i) shares.push_back({&tile, i});
  }
#pragma omp parallel
  {
    Worker worker;
    // Monotonic: shares of a tile are finished about in order, so that few of their sums wait to be folded.
#pragma omp for schedule(monotonic : dynamic, 1)
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].tile->deliver(shares[i].index, worker.run(*shares[i].tile, shares[i].index), oracle);
    }
  }
}

}  // namespace mla::reference
