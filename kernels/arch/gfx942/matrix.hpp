// Fragments of v_mfma_f32_16x16x16_bf16 and v_mfma_f32_16x16x32_fp8 on gfx942.
//
// There is no transposed read: a lane reads four neighbouring dims of four tokens of V and exchanges rows and columns
// in its registers; the four columns go to four products, whose results are then 16 neighbouring dims of a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/cdna/matrix_base.hpp"
#include "kernels/arch/cdna/tile_layout.hpp"
#include "kernels/arch/gfx942/instructions.hpp"
#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::gfx942 {

namespace detail {

struct MatrixBase : cdna::MatrixBase<4> {
  static constexpr int kOutputColumns = 64;
  static constexpr int kOutputWidth = 16;

  /// [dim % 4]: of dims 4 i + dim % 4.
  struct Output {
    float v[4][4] = {};
  };

  static MLA_DEVICE int output_column(int lane, int /*vector*/) { return lane / 16 * 16; }
  static MLA_DEVICE float& output(Output& o, int /*vector*/, int element) { return o.v[element % 4][element / 4]; }
};

}  // namespace detail

template <DataType kQuery, DataType kKv>
struct Matrix;

/// bf16 throughout.
template <>
struct Matrix<DataType::bf16, DataType::bf16> : detail::MatrixBase {
  static constexpr int kKeyDepth = 16;
  using Layout = cdna::TileLayout<kHeadDim * 2>;

  struct Query {
    std::uint32_t v[2];
  };
  struct Key {
    std::uint32_t v[2];
  };
  /// Of four tokens, four dims each.
  struct Values {
    std::uint32_t v[4][2];
  };

  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    cdna::read(query.v, tile + Layout::offset(row + line(), (dim + quarter() * 4) * 2));
  }
  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    cdna::read(key.v, tile + Layout::offset(token + line(), (dim + quarter() * 4) * 2));
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
    cdna::mfma_16x16x16_bf16(scores.v, key.v, query.v);
  }

  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      cdna::read(values.v[n], tile + Layout::offset(token + quarter() * 4 + n, (dim + line() * 4) * 2));
    }
  }
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
#pragma unroll
    for (int column = 0; column < 4; ++column) {
      std::uint32_t pairs[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t first = values.v[2 * i][column / 2];
        const std::uint32_t second = values.v[2 * i + 1][column / 2];
        pairs[i] = column % 2 == 0 ? cdna::permute_bytes<0x05040100>(second, first)
                                   : cdna::permute_bytes<0x07060302>(second, first);
      }
      cdna::mfma_16x16x16_bf16(output.v[column], pairs, p.v);
    }
  }
};

namespace detail {

/// e4m3fnuz KV. P and V are multiplied as bf16, which holds every e4m3 value exactly.
struct Fp8ValueMatrix : MatrixBase {
  static constexpr int kKeyDepth = 32;
  using Layout = cdna::TileLayout<kHeadDim>;
  using Encoding = Float8E4M3FNUZ;

  struct Key {
    std::uint32_t v[2];
  };
  /// Of four tokens, four dims each.
  struct Values {
    std::uint32_t v[4];
  };

  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    cdna::read(key.v, tile + Layout::offset(token + line(), dim + quarter() * 8));
  }
  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      values.v[n] =
          *reinterpret_cast<const std::uint32_t*>(tile + Layout::offset(token + quarter() * 4 + n, dim + line() * 4));
    }
  }
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
    // Two columns at a time: dims 0, 1, then 2, 3 of two tokens each.
    std::uint32_t pairs[4][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t low = cdna::permute_bytes<0x05010400>(values.v[2 * i + 1], values.v[2 * i]);
      const std::uint32_t high = cdna::permute_bytes<0x07030602>(values.v[2 * i + 1], values.v[2 * i]);
      pairs[0][i] = cdna::bf16_pair_of_fp8<Encoding, false>(low);
      pairs[1][i] = cdna::bf16_pair_of_fp8<Encoding, true>(low);
      pairs[2][i] = cdna::bf16_pair_of_fp8<Encoding, false>(high);
      pairs[3][i] = cdna::bf16_pair_of_fp8<Encoding, true>(high);
    }
#pragma unroll
    for (int column = 0; column < 4; ++column) cdna::mfma_16x16x16_bf16(output.v[column], pairs[column], p.v);
  }
};

}  // namespace detail

/// q and KV e4m3fnuz: the scores by the fp8 product.
template <>
struct Matrix<DataType::e4m3fnuz, DataType::e4m3fnuz> : detail::Fp8ValueMatrix {
  struct Query {
    std::uint32_t v[2];
  };
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    cdna::read(query.v, tile + Layout::offset(row + line(), dim + quarter() * 8));
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
    cdna::mfma_16x16x32_fp8<Encoding>(scores.v, key.v, query.v);
  }
  using detail::Fp8ValueMatrix::multiply;
};

/// bf16 q, e4m3fnuz KV: K becomes bf16 between shared memory and the product.
template <>
struct Matrix<DataType::bf16, DataType::e4m3fnuz> : detail::Fp8ValueMatrix {
  struct Query {
    std::uint32_t v[4];
  };
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    using QueryLayout = cdna::TileLayout<kHeadDim * 2>;
    cdna::read(query.v, tile + QueryLayout::offset(row + line(), (dim + quarter() * 8) * 2));
  }
  // Any order of the dims will do, if q's is the same: the first product takes a lane's first four.
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t k[2] = {cdna::bf16_pair_of_fp8<Encoding, false>(key.v[half]),
                                  cdna::bf16_pair_of_fp8<Encoding, true>(key.v[half])};
      const std::uint32_t q[2] = {query.v[2 * half], query.v[2 * half + 1]};
      cdna::mfma_16x16x16_bf16(scores.v, k, q);
    }
  }
  using detail::Fp8ValueMatrix::multiply;
};

}  // namespace mla::gfx942
