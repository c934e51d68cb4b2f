#include "harness/providers/provider.hpp"

namespace mla::harness {

std::string_view name_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::none: return "none";
    case SkipReason::unsupported_operation: return "unsupported_operation";
    case SkipReason::unsupported_dtype: return "unsupported_dtype";
    case SkipReason::unsupported_shape: return "unsupported_shape";
    case SkipReason::not_enough_memory: return "not_enough_memory";
    case SkipReason::no_device: return "no_device";
    case SkipReason::filtered: return "filtered";
  }
  return "?";
}

}  // namespace mla::harness
