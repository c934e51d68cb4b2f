// The kernels of MI350 and MI355.
#include "kernels/arch/cdna/target_of.hpp"
#include "kernels/arch/gfx950/arch.hpp"

namespace mla::gfx950 {

const cdna::Target& target() {
  static const cdna::Target target = cdna::target_of<Arch>();
  return target;
}

}  // namespace mla::gfx950
