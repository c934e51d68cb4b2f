#include "kernels/arch/gfx950/arch.hpp"
#include "kernels/arch/host/target_of.hpp"

namespace mla::host {

const Target& gfx950_target() {
  static const Target target = target_of<gfx950::Arch>();
  return target;
}

}  // namespace mla::host
