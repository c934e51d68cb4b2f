// MI350, MI355 (gfx950): waves of 64 lanes, v_mfma 16x16x32, copies of 16 bytes a lane straight to 160 KB of shared
// memory, transposed reads for V. See arch/README.md.
#pragma once

#include "kernels/arch/cdna/arch_base.hpp"
#include "kernels/arch/gfx950/instructions.hpp"
#include "kernels/arch/gfx950/matrix.hpp"
#include "kernels/decode/launch.hpp"
#include "mla/dtype.hpp"
#include "mla/tile.hpp"

namespace mla {

namespace gfx950 {

struct Arch : cdna::ArchBase {
  static constexpr const char* kName = "gfx950";
  static constexpr DataType kFp8 = DataType::e4m3fn;
  static constexpr int kSharedBytes = 163840;

  /// 36 KB either way: three tiles beside 16 rows of q, two beside 64.
  static constexpr int tile_tokens(DataType kv) { return kv == DataType::bf16 ? 32 : 64; }
  /// 64 rows of bf16 q leave room for two tiles of 32 tokens, but not of 64 and their scores.
  static constexpr int max_rows(DataType q, DataType kv) { return q == kv ? 64 : 32; }
  static constexpr TileLimits tile_limits(DataType kv) {
    return {kRowTile, max_rows(DataType::bf16, kv), max_rows(kv, kv), tile_tokens(kv)};
  }
  /// Two where a tile has fewer slices of 16 rows x 16 tokens than there are waves.
  static constexpr int key_parts(int rows, DataType kv) { return rows == 16 && kv == DataType::bf16 ? 2 : 1; }

  template <class Layout, int kRows>
  using RowCopies = cdna::RowCopies<Layout, kRows, kWaves, 16>;
  template <DataType kQuery, DataType kKv>
  using Matrix = gfx950::Matrix<kQuery, kKv>;

  static MLA_DEVICE std::uint32_t bf16_pair(float first, float second) { return cdna::bf16_pair(first, second); }
};

}  // namespace gfx950

/// The same kernel for 64 rows: a wave's accumulators, 64 x 128, are 128 of its 512 registers.
template <DataType kBoth>
struct WideDecode<gfx950::Arch, kBoth, kBoth, 64> {
  using Kernel = DecodeKernel<gfx950::Arch, kBoth, kBoth, 64>;
};

}  // namespace mla
