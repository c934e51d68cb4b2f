// The paged KV as a tensor map, from which the copy engine takes boxes of swizzled rows.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/decode/arguments.hpp"
#include "kernels/runtime/runtime.hpp"
#include "mla/shape.hpp"

namespace mla::sm90 {

/// Tokens of a box: pages of fewer are copied another way.
inline constexpr int kKvBoxTokens = 32;

/// Arguments of a kernel that copies KV by boxes of 64 dims x kKvBoxTokens tokens: bf16 in the 128-byte swizzle, e4m3
/// as it is.
struct WideArguments : DecodeArguments {
  CUtensorMap kv_map;    // [pages][tokens][576]
  bool has_map = false;  // false where the pages are too small

  static hipError_t make(const DecodeArguments& arguments, WideArguments* made);
};

namespace detail {

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

// Through the runtime: linking the driver's library would keep the program from starting where there is no driver.
inline EncodeTensorMap encode_tensor_map() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTensorMap>(function);
}

}  // namespace detail

inline hipError_t WideArguments::make(const DecodeArguments& arguments, WideArguments* made) {
  static_cast<DecodeArguments&>(*made) = arguments;
  const PagedKvView& kv = arguments.inputs.kv;
  made->has_map = kv.page_size >= kKvBoxTokens && kv.num_pages > 0;
  if (!made->has_map) return hipSuccess;
  static const detail::EncodeTensorMap encode = detail::encode_tensor_map();
  if (encode == nullptr) return cudaErrorNotSupported;
  const cuuint64_t sizes[] = {kHeadDim, static_cast<cuuint64_t>(kv.page_size), static_cast<cuuint64_t>(kv.num_pages)};
  const bool fp8 = is_fp8(kv.dtype);
  const auto element_bytes = static_cast<cuuint64_t>(size_in_bytes(kv.dtype));
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(kv.token_stride) * element_bytes,
                                static_cast<cuuint64_t>(kv.page_stride) * element_bytes};
  const cuuint32_t box[] = {64, kKvBoxTokens, 1};
  const cuuint32_t steps[] = {1, 1, 1};
  const CUresult result =
      encode(&made->kv_map, fp8 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
             const_cast<void*>(kv.data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             fp8 ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? hipSuccess : cudaErrorInvalidValue;
}

}  // namespace mla::sm90
