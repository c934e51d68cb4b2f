// The table of a CDNA target: its source file instantiates it.
#pragma once

#include "kernels/arch/cdna/describe.hpp"
#include "kernels/arch/host/target.hpp"
#include "kernels/decode/api.hpp"

namespace mla::host {

template <class Arch>
Target target_of() {
  return {.model = cdna::describe<Arch>(1),
          .limits = &cdna::limits_of,
          .precision = &Api<Arch>::precision,
          .prepare = &Api<Arch>::prepare,
          .plan = &Api<Arch>::plan,
          .decode = &Api<Arch>::decode};
}

}  // namespace mla::host
