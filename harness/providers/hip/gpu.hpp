// Which GPU this machine has, read from the driver's files. Asking the runtime would start it in this process, and a
// runtime started before a fork does not work in the children that run the cases.
#pragma once

#include <filesystem>
#include <string>

namespace mla::harness::hip {

/// Architecture of the first GPU that AMD's driver lists, as the compiler names it ("gfx950"); "" where it lists none.
/// `nodes`: folder of the driver's topology.
[[nodiscard]] std::string amd_arch(const std::filesystem::path& nodes = "/sys/class/kfd/kfd/topology/nodes");

}  // namespace mla::harness::hip
