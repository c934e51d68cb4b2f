#include "harness/providers/peers/flashinfer/decode.cuh"

namespace mla::harness::flashinfer {

template cudaError_t launch_one<__nv_fp8_e4m3, true>(const Tensors&, const Plan&, const Workspace&, cudaStream_t);

}  // namespace mla::harness::flashinfer
