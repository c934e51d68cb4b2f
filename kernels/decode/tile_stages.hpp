// How many KV tiles a decode workgroup keeps in shared memory.
#pragma once

#include "mla/dtype.hpp"

namespace mla {

/// As many as fit, up to this; a target may set less. More tiles in flight than the memory's latency needs only
/// lengthen the queue in front of it, and the workgroups that are nearer to the memory then take more of it than their
/// share.
template <class Arch, DataType kKv>
inline constexpr int kMaxTileStages = 6;

}  // namespace mla
