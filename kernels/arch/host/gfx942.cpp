#include "kernels/arch/gfx942/arch.hpp"
#include "kernels/arch/host/target_of.hpp"

namespace mla::host {

const Target& gfx942_target() {
  static const Target target = target_of<gfx942::Arch>();
  return target;
}

}  // namespace mla::host
