// Nothing is to be measured on the CPU: this executes the same source, so that it can be tested.
#include "kernels/arch/gfx950/arch.hpp"
#include "kernels/ceilings/launches_of.hpp"

namespace mla::ceilings {

const Launches& launches() {
  static const Launches table = launches_of<gfx950::Arch>();
  return table;
}

}  // namespace mla::ceilings
