// The 512 values of one row of `out`, handled at once. Detail of the checks.
#pragma once

#include <algorithm>

#include <Eigen/Core>

#include "mla/dtype.hpp"
#include "mla/shape.hpp"

namespace mla::harness::checks {

using RowArray = Eigen::Array<double, kValueDim, 1>;

inline RowArray widened(const Bfloat16* row) {
  RowArray values;
  for (int dim = 0; dim < kValueDim; ++dim) values[dim] = static_cast<double>(row[dim].to_float());
  return values;
}

/// Of an error, at least 0, to its bound, where a bound of 0 stands for "exactly".
inline double ratio_of(double error, double bound) {
  const double ratio = error / bound;  // in any case, so that a loop of it is vector operations
  return error == 0 ? 0 : ratio;
}
inline RowArray ratios_of(const RowArray& errors, const RowArray& bounds) {
  RowArray ratios;
  for (int dim = 0; dim < kValueDim; ++dim) ratios[dim] = ratio_of(errors[dim], bounds[dim]);
  return ratios;
}

/// Index in [begin, end) of the largest value; among equals the first. `begin` where there is a NaN, which equals
/// nothing.
inline int index_of_largest(const RowArray& values, int begin = 0, int end = kValueDim) {
  const double largest = values.segment(begin, end - begin).maxCoeff();
  const auto last = values.begin() + end;
  const auto found = std::find(values.begin() + begin, last, largest);
  return found == last ? begin : static_cast<int>(found - values.begin());
}

}  // namespace mla::harness::checks
