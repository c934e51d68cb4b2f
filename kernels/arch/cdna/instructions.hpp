// The CDNA instructions that the kernels use, from the compiler that is at work.
#pragma once

#if defined(__HIP__)
#include "kernels/arch/cdna/device.hpp"
#else
#include "kernels/arch/host/cdna.hpp"
#endif
