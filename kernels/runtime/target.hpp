// Function attributes of the three compilation models: CUDA, HIP and plain C++. They are attributes of the language,
// not values, so nothing but a macro can carry them.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__)
#define MLA_HOST_DEVICE __host__ __device__
#define MLA_DEVICE __device__ __forceinline__
#define MLA_GLOBAL __global__
/// For code that runs once: a device fetches instructions more slowly than it executes them, so copies of a loop's body
/// or of a function cost more than the jumps they save. Not on AMD: there a call keeps registers, and whatever is
/// passed by reference, in scratch memory.
#if defined(__CUDACC__)
#define MLA_NO_INLINE __noinline__
#else
#define MLA_NO_INLINE __forceinline__
#endif
#define MLA_NO_UNROLL _Pragma("unroll 1")
#else
#define MLA_HOST_DEVICE
#define MLA_DEVICE inline
#define MLA_GLOBAL
#define MLA_NO_INLINE
#define MLA_NO_UNROLL
#endif
