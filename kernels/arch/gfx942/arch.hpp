// MI300X (gfx942): waves of 64 lanes, v_mfma 16x16x16, 64 KB of shared memory, copies of 4 bytes a lane straight to it,
// e4m3fnuz. See arch/README.md.
#pragma once

#include "kernels/arch/cdna/arch_base.hpp"
#include "kernels/arch/gfx942/instructions.hpp"
#include "kernels/arch/gfx942/matrix.hpp"
#include "mla/dtype.hpp"
#include "mla/tile.hpp"

namespace mla::gfx942 {

struct Arch : cdna::ArchBase {
  static constexpr const char* kName = "gfx942";
  static constexpr DataType kFp8 = DataType::e4m3fnuz;
  static constexpr int kSharedBytes = 65536;

  /// 18 KB either way: two tiles beside 16 rows of q in bf16, or 32 in fp8.
  static constexpr int tile_tokens(DataType kv) { return kv == DataType::bf16 ? 16 : 32; }
  /// More rows of q than these leave no room for two tiles.
  static constexpr int max_rows(DataType q, DataType /*kv*/) { return q == DataType::bf16 ? 16 : 32; }
  static constexpr TileLimits tile_limits(DataType kv) {
    return {kRowTile, max_rows(DataType::bf16, kv), max_rows(kv, kv), tile_tokens(kv)};
  }
  static constexpr int key_parts(int rows, DataType kv) { return kv == DataType::bf16 ? 4 : rows == 16 ? 2 : 1; }

  template <class Layout, int kRows>
  using RowCopies = cdna::RowCopies<Layout, kRows, kWaves, 4>;
  template <DataType kQuery, DataType kKv>
  using Matrix = gfx942::Matrix<kQuery, kKv>;

  static MLA_DEVICE std::uint32_t bf16_pair(float first, float second) { return cdna::bf16_pair(first, second); }
};

}  // namespace mla::gfx942
