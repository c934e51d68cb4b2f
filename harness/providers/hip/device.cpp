#include "harness/providers/hip/device.hpp"

namespace mla::harness::hip {

void check(hipError_t error, std::string_view call) {
  if (error == hipSuccess) return;
  throw EnvironmentError(fmt::format("{}: {} ({})", call, hipGetErrorString(error), hipGetErrorName(error)));
}

void upload(std::byte* to, std::span<const std::byte> from) {
  check(hipMemcpy(to, from.data(), from.size(), hipMemcpyHostToDevice), "hipMemcpy to the device");
}

void download(std::span<std::byte> to, const std::byte* from) {
  check(hipMemcpy(to.data(), from, to.size(), hipMemcpyDeviceToHost), "hipMemcpy from the device");
}

}  // namespace mla::harness::hip
