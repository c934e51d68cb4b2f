// Source of the recorded texts beside it, with clang 21 (ci/rocm.sh runs the same three commands):
//   clang++ -x hip --offload-arch=gfx950 --offload-device-only --no-gpu-bundle-output -O3 -c -o sample.co
//   llvm-readelf --notes sample.co
//   llvm-objdump --disassemble sample.co
#include <hip/hip_runtime.h>

using F32x4 = float __attribute__((ext_vector_type(4)));
using Bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using S16x4 = short __attribute__((ext_vector_type(4)));

// Two loops: the outer stages a tile in LDS, the inner multiplies from it. The inner one is the hot loop.
__global__ __launch_bounds__(256) void tile_product(const float4* a, const float4* b, F32x4* c, int tiles, int steps) {
  __shared__ float4 lds[1024];
  F32x4 acc = {0, 0, 0, 0};
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    for (int i = 0; i < 4; ++i) lds[i * 256 + threadIdx.x] = b[(tile * 4 + i) * 256 + threadIdx.x];
    __syncthreads();
#pragma clang loop unroll(disable)
    for (int step = 0; step < steps; ++step) {
      const int at = (step * 64 + threadIdx.x) & 1023;
#if defined(__gfx950__)
      acc = __builtin_amdgcn_mfma_f32_16x16x32_bf16(*reinterpret_cast<const Bf16x8*>(&a[at]),
                                                    *reinterpret_cast<Bf16x8*>(&lds[at]), acc, 0, 0, 0);
#elif defined(__gfx942__)
      acc = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(*reinterpret_cast<const S16x4*>(&a[at]),
                                                      *reinterpret_cast<S16x4*>(&lds[at]), acc, 0, 0, 0);
#endif
    }
  }
  c[blockIdx.x * 256 + threadIdx.x] = acc;
}

// Uses private memory: an index known only at run time into an array that the compiler cannot keep in registers.
__global__ void private_array(const int* index, int* out) {
  int table[64];
#pragma clang loop unroll(disable)
  for (int i = 0; i < 64; ++i) table[i] = index[i] * i;
  out[threadIdx.x] = table[index[threadIdx.x] & 63];
}
