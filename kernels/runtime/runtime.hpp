// The runtime calls of the project under HIP's names, whatever runtime the build has.
#pragma once

#if defined(MLA_TARGET_SM90)
#include "kernels/runtime/cuda.hpp"
#elif defined(MLA_TARGET_GFX) && defined(__HIP__)
#include <hip/hip_runtime.h>
#elif defined(MLA_TARGET_GFX)
#include <hip/hip_runtime_api.h>
// HIP's headers define it as a macro; libstdc++ 16 writes the attribute of that name.
#undef __noinline__
#elif defined(MLA_TARGET_HOST)
#include "kernels/runtime/host/hip.hpp"
#else
#error "one of MLA_TARGET_SM90, MLA_TARGET_GFX, MLA_TARGET_HOST must be defined: the build's target sets it"
#endif

namespace mla::runtime {

#if defined(MLA_TARGET_HOST)
struct Host {};
using Here = Host;
#else
struct Gpu {};
using Here = Gpu;
#endif

}  // namespace mla::runtime
