#include "harness/providers/hip/device.hpp"

#include <filesystem>

namespace mla::harness::hip {

void check(hipError_t error, std::string_view call) {
  if (error == hipSuccess) return;
  throw EnvironmentError(fmt::format("{}: {} ({})", call, hipGetErrorString(error), hipGetErrorName(error)));
}

bool device_file_exists() {
  return std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/kfd");
}

void upload(std::byte* to, std::span<const std::byte> from) {
  check(hipMemcpy(to, from.data(), from.size(), hipMemcpyHostToDevice), "hipMemcpy to the device");
  // A copy from pageable memory may return before it has landed, and a Stream does not wait for the default one.
  check(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
}

void download(std::span<std::byte> to, const std::byte* from) {
  check(hipMemcpy(to.data(), from, to.size(), hipMemcpyDeviceToHost), "hipMemcpy from the device");
}

}  // namespace mla::harness::hip
