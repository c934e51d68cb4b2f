// Ceilings of Hopper.
#include "kernels/arch/sm90/arch.hpp"
#include "kernels/arch/sm90/multiply_kernel.hpp"
#include "kernels/ceilings/launches_of.hpp"

namespace mla::ceilings {

const Launches& launches() {
  static const Launches table = launches_of<sm90::Arch>();
  return table;
}

}  // namespace mla::ceilings
