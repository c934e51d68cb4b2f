// The runtime calls of the project under HIP's names, whatever runtime the build has.
#pragma once

#if defined(MLA_TARGET_SM90)
#include "kernels/runtime/cuda.hpp"
#elif defined(MLA_TARGET_GFX)
#include <hip/hip_runtime.h>
#elif defined(MLA_TARGET_HOST)
#include "kernels/runtime/host/hip.hpp"
#else
#error "one of MLA_TARGET_SM90, MLA_TARGET_GFX, MLA_TARGET_HOST must be defined: the build's target sets it"
#endif
