// Metamorphic checks: results of one provider that must agree whatever the oracle says. They find faults that depend on
// how a problem is laid out (page size, block table, order of the batch, splits, padding, several query tokens), and
// they would find an error that oracle and kernel share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/providers/provider.hpp"
#include "reference/decode.hpp"

namespace mla::harness {

/// One relation on one problem.
struct RelationResult {
  std::string relation;
  TierVerdict verdict = TierVerdict::passed;
  bool skipped = false;  // it does not apply, and `message` says why
  std::string message;
  /// Largest difference over what rounding explains in the two results, 1 is the limit: of one value, twice its bound;
  /// where roundings are independent, of a row's values the spread of two.
  double max_ratio = 0;
  bool bitwise = false;  // the results agree bit for bit
};

/// What a relation starts from: a problem whose result has been checked.
struct RelationBase {
  const DecodeCase& base;  // its outputs hold the provider's result
  const reference::DecodeOracle& oracle;
  const Provider& provider;
  const Precision& precision;
};

/// Runs the provider on every variant and compares with the result of the base. Variants that the provider does not
/// support are skipped with its reason. `execution` is the one that gave the base's result.
[[nodiscard]] std::vector<RelationResult> check_metamorphic(const RelationBase& base, DecodeExecution& execution);

}  // namespace mla::harness
