// From a call's arguments to the variant that serves it: the only place that lists the variants.
#pragma once

#include <type_traits>

#include "kernels/decode/decode_kernel.hpp"
#include "kernels/merge/merge_kernel.hpp"
#include "kernels/runtime/launch.hpp"
#include "mla/dtype.hpp"
#include "mla/tile.hpp"

namespace mla {

/// Where a target has a kernel of its own for tiles of 64 or 128 rows, its specialisation names it as `Kernel`.
template <class Arch, DataType kQuery, DataType kKv, int kRows>
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
  const auto wide = [&]<DataType kQuery, DataType kKv, int kRows>() {
    using Kernel = typename WideDecode<Arch, kQuery, kKv, kRows>::Kernel;
    if constexpr (!std::is_void_v<Kernel>) visit.template operator()<Kernel>();
    return !std::is_void_v<Kernel>;
  };
  const auto by_rows = [&]<DataType kQuery, DataType kKv>() {
    switch (rows) {
      case 16: visit.template operator()<DecodeKernel<Arch, kQuery, kKv, 16>>(); return true;
      case 32:
        if constexpr (max_rows<Arch>(kQuery, kKv) >= 32) {
          visit.template operator()<DecodeKernel<Arch, kQuery, kKv, 32>>();
          return true;
        }
        return false;
      case 64: return wide.template operator()<kQuery, kKv, 64>();
      case 128: return wide.template operator()<kQuery, kKv, 128>();
      default: return false;
    }
  };
  constexpr DataType kBf16 = DataType::bf16;
  if (q == kBf16 && kv == kBf16) return by_rows.template operator()<kBf16, kBf16>();
  if (q == kBf16 && kv == Arch::kFp8) return by_rows.template operator()<kBf16, Arch::kFp8>();
  if (q == Arch::kFp8 && kv == Arch::kFp8) return by_rows.template operator()<Arch::kFp8, Arch::kFp8>();
  return false;
}

/// Workgroups that work on the tiles of a worker together.
template <class Kernel>
constexpr int workgroups_per_worker() {
  if constexpr (requires { Kernel::kWorkgroupsPerWorker; }) {
    return Kernel::kWorkgroupsPerWorker;
  } else {
    return 1;
  }
}

/// Enqueues `Kernel` for a plan of `workers`.
template <class Kernel>
hipError_t enqueue_decode(int workers, const DecodeArguments& arguments, hipStream_t stream, bool cooperative) {
  constexpr int kWorkgroups = workgroups_per_worker<Kernel>();
  if constexpr (std::is_same_v<typename Kernel::Arguments, DecodeArguments>) {
    return runtime::launch<Kernel>(workers * kWorkgroups, arguments, stream, cooperative);
  } else {
    typename Kernel::Arguments own;
    const hipError_t error = Kernel::Arguments::make(arguments, &own);
    if (error != hipSuccess) return error;
    return runtime::launch<Kernel, kWorkgroups>(workers * kWorkgroups, own, stream, cooperative);
  }
}

}  // namespace mla
