// Fragments of v_mfma_f32_16x16x32 on gfx950.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arch/cdna/matrix_base.hpp"
#include "kernels/arch/cdna/tile_layout.hpp"
#include "kernels/arch/gfx950/instructions.hpp"
#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::gfx950 {

namespace detail {

/// V comes through the transposed read.
struct MatrixBase : cdna::MatrixBase<8> {
  /// 16 halfwords from `byte` on, of eight tokens from `token` + 8 * quarter on: halfword `line()` of each, in order.
  template <class Layout>
  static MLA_DEVICE void read_values(std::uint32_t (&r)[2][2], const std::byte* tile, int token, int byte) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = token + quarter() * 8 + half * 4 + line() / 4;
      cdna::read_transposed_16(r[half], tile + Layout::offset(row, byte + line() % 4 * 8));
    }
  }
};

}  // namespace detail

template <DataType kQuery, DataType kKv>
struct Matrix;

/// bf16 throughout.
template <>
struct Matrix<DataType::bf16, DataType::bf16> : detail::MatrixBase {
  static constexpr int kKeyDepth = 32;
  static constexpr int kOutputColumns = 16;
  static constexpr int kOutputWidth = 4;
  using Layout = cdna::TileLayout<kHeadDim * 2>;

  struct Query {
    std::uint32_t v[4];
  };
  struct Key {
    std::uint32_t v[4];
  };
  struct Values {
    std::uint32_t v[4];
  };
  struct Output {
    float v[4] = {};
  };

  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    cdna::read(query.v, tile + Layout::offset(row + line(), (dim + quarter() * 8) * 2));
  }
  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    cdna::read(key.v, tile + Layout::offset(token + line(), (dim + quarter() * 8) * 2));
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
    cdna::mfma_16x16x32_bf16(scores.v, key.v, query.v);
  }

  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
    std::uint32_t r[2][2];
    read_values<Layout>(r, tile, token, dim * 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) values.v[i] = r[i / 2][i % 2];
  }
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
    cdna::mfma_16x16x32_bf16(output.v, values.v, p.v);
  }
  static MLA_DEVICE int output_column(int lane, int /*vector*/) {
    return lane / 16 * 4;
  }
  static MLA_DEVICE float& output(Output& o, int /*vector*/, int element) {
    return o.v[element];
  }
};

namespace detail {

/// e4m3fn KV. P and V are multiplied as bf16, which holds every e4m3 value exactly: rounding P to e4m3 would cost more
/// accuracy than all the rest, and at 16 rows a tile memory is the limit, not the matrix rate.
struct Fp8ValueMatrix : MatrixBase {
  static constexpr int kKeyDepth = 64;
  static constexpr int kOutputColumns = 32;
  static constexpr int kOutputWidth = 8;
  using Layout = cdna::TileLayout<kHeadDim>;
  using Encoding = Float8E4M3FN;

  /// 16 dims a lane: the order of the dims within a product is free, so that one read serves two products.
  struct Key {
    std::uint32_t v[4];
  };
  /// Pairs of neighbouring dims of eight tokens.
  struct Values {
    std::uint32_t v[4];
  };
  /// Of even and of odd dims.
  struct Output {
    float v[2][4] = {};
  };

  static MLA_DEVICE void load_key(Key& key, const std::byte* tile, int token, int dim) {
    cdna::read(key.v, tile + Layout::offset(token + line(), dim + quarter() * 16));
  }
  static MLA_DEVICE void load_values(Values& values, const std::byte* tile, int token, int dim) {
    std::uint32_t r[2][2];
    read_values<Layout>(r, tile, token, dim);
#pragma unroll
    for (int i = 0; i < 4; ++i) values.v[i] = r[i / 2][i % 2];
  }
  static MLA_DEVICE void multiply(Output& output, const Probabilities& p, const Values& values) {
    std::uint32_t even[4];
    std::uint32_t odd[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Of two tokens: even dim, even dim, odd dim, odd dim.
      const std::uint32_t bytes = cdna::permute_bytes<0x03010200>(0, values.v[i]);
      even[i] = cdna::bf16_pair_of_fp8<Encoding, false>(bytes);
      odd[i] = cdna::bf16_pair_of_fp8<Encoding, true>(bytes);
    }
    cdna::mfma_16x16x32_bf16(output.v[0], even, p.v);
    cdna::mfma_16x16x32_bf16(output.v[1], odd, p.v);
  }
  static MLA_DEVICE int output_column(int lane, int /*vector*/) {
    return lane / 16 * 8;
  }
  static MLA_DEVICE float& output(Output& o, int /*vector*/, int element) {
    return o.v[element % 2][element / 2];
  }
};

}  // namespace detail

/// q and KV e4m3fn: the scores by the fp8 product, which is exact in its terms and accumulates in float32.
template <>
struct Matrix<DataType::e4m3fn, DataType::e4m3fn> : detail::Fp8ValueMatrix {
  struct Query {
    std::uint32_t v[4];
  };
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    cdna::read(query.v, tile + Layout::offset(row + line(), dim + quarter() * 16));
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t k[2] = {key.v[2 * half], key.v[2 * half + 1]};
      const std::uint32_t q[2] = {query.v[2 * half], query.v[2 * half + 1]};
      cdna::mfma_16x16x32_fp8<Encoding>(scores.v, k, q);
    }
  }
  using detail::Fp8ValueMatrix::multiply;
};

/// bf16 q, e4m3fn KV: K becomes bf16 between shared memory and the product.
template <>
struct Matrix<DataType::bf16, DataType::e4m3fn> : detail::Fp8ValueMatrix {
  struct Query {
    std::uint32_t v[2][4];
  };
  static MLA_DEVICE void load_query(Query& query, const std::byte* tile, int row, int dim) {
    using QueryLayout = cdna::TileLayout<kHeadDim * 2>;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      cdna::read(query.v[half], tile + QueryLayout::offset(row + line(), (dim + quarter() * 16 + half * 8) * 2));
    }
  }
  static MLA_DEVICE void multiply(Scores& scores, const Query& query, const Key& key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t k[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        k[2 * i] = cdna::bf16_pair_of_fp8<Encoding, false>(key.v[2 * half + i]);
        k[2 * i + 1] = cdna::bf16_pair_of_fp8<Encoding, true>(key.v[2 * half + i]);
      }
      cdna::mfma_16x16x32_bf16(scores.v, k, query.v[half]);
    }
  }
  using detail::Fp8ValueMatrix::multiply;
};

}  // namespace mla::gfx950
