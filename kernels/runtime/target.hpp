// Function attributes of the three compilation models: CUDA, HIP and plain C++. They are attributes of the language,
// not values, so nothing but a macro can carry them.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__)
#define MLA_HOST_DEVICE __host__ __device__
#define MLA_DEVICE __device__ __forceinline__
#define MLA_GLOBAL __global__
#else
#define MLA_HOST_DEVICE
#define MLA_DEVICE inline
#define MLA_GLOBAL
#endif
