// The 512 values of one row of `out`, handled at once. Detail of the checks.
#pragma once

#include <algorithm>

#include <Eigen/Core>

#include "mla/shape.hpp"

namespace mla::harness::checks {

using RowArray = Eigen::Array<double, kValueDim, 1>;

/// Index in [begin, end) of the largest value; among equals the first. `begin` where there is a NaN, which equals
/// nothing.
inline int index_of_largest(const RowArray& values, int begin = 0, int end = kValueDim) {
  const double largest = values.segment(begin, end - begin).maxCoeff();
  const auto last = values.begin() + end;
  const auto found = std::find(values.begin() + begin, last, largest);
  return found == last ? begin : static_cast<int>(found - values.begin());
}

}  // namespace mla::harness::checks
