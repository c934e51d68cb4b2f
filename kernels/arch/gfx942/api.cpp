// The kernels of MI300X.
#include "kernels/arch/cdna/target_of.hpp"
#include "kernels/arch/gfx942/arch.hpp"

namespace mla::gfx942 {

const cdna::Target& target() {
  static const cdna::Target target = cdna::target_of<Arch>();
  return target;
}

}  // namespace mla::gfx942
