// From a call's arguments to the variant that serves it: the only place that lists the variants.
#pragma once

#include <type_traits>

#include "kernels/decode/decode_kernel.hpp"
#include "kernels/merge/merge_kernel.hpp"
#include "kernels/runtime/launch.hpp"
#include "mla/dtype.hpp"
#include "mla/tile.hpp"

namespace mla {

/// Where a target has a kernel of its own for tiles of 64 rows, its specialisation names it as `Kernel`.
template <class Arch, DataType kQuery, DataType kKv>
struct WideDecode {
  using Kernel = void;
};

/// Most rows of a tile of these types that the target's shared memory holds beside two tiles of KV.
template <class Arch>
constexpr int max_rows(DataType q, DataType kv) {
  if constexpr (requires { Arch::max_rows(q, kv); }) {
    return Arch::max_rows(q, kv);
  } else {
    return 64;
  }
}

/// Calls `visit.template operator()<Kernel>()` for the variant of these types and rows; false where there is none.
template <class Arch, class Visitor>
bool visit_decode(DataType q, DataType kv, int rows, Visitor&& visit) {
  const auto by_rows = [&]<DataType kQuery, DataType kKv>() {
    switch (rows) {
      case 16: visit.template operator()<DecodeKernel<Arch, kQuery, kKv, 16>>(); return true;
      case 32:
        if constexpr (max_rows<Arch>(kQuery, kKv) >= 32) {
          visit.template operator()<DecodeKernel<Arch, kQuery, kKv, 32>>();
          return true;
        }
        return false;
      case 64:
        if constexpr (!std::is_void_v<typename WideDecode<Arch, kQuery, kKv>::Kernel>) {
          visit.template operator()<typename WideDecode<Arch, kQuery, kKv>::Kernel>();
          return true;
        }
        return false;
      default: return false;
    }
  };
  constexpr DataType kBf16 = DataType::bf16;
  if (q == kBf16 && kv == kBf16) return by_rows.template operator()<kBf16, kBf16>();
  if (q == kBf16 && kv == Arch::kFp8) return by_rows.template operator()<kBf16, Arch::kFp8>();
  if (q == Arch::kFp8 && kv == Arch::kFp8) return by_rows.template operator()<Arch::kFp8, Arch::kFp8>();
  return false;
}

}  // namespace mla
