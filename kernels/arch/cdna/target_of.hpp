// The table of a CDNA target: its source file instantiates it, and with it the target's kernels.
#pragma once

#include "kernels/arch/cdna/describe.hpp"
#include "kernels/arch/cdna/target.hpp"
#include "kernels/ceilings/launches_of.hpp"
#include "kernels/decode/api.hpp"

namespace mla::cdna {

template <class Arch>
Target target_of() {
  return {.name = Arch::kName,
          .describe = &describe<Arch>,
          .precision = &Api<Arch>::precision,
          .prepare = &Api<Arch>::prepare,
          .plan = &Api<Arch>::plan,
          .decode = &Api<Arch>::decode,
          .ceilings = ceilings::launches_of<Arch>()};
}

}  // namespace mla::cdna
