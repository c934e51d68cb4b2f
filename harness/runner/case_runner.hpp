// Runs one provider on one problem in processes of their own: what `run` does for each case, and `shrink` for each try.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "harness/inputs/buffer.hpp"
#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/decode_problem.hpp"
#include "harness/providers/provider.hpp"
#include "harness/runner/child_process.hpp"
#include "harness/runner/measurement.hpp"
#include "harness/runner/mode.hpp"
#include "harness/timing/ceilings.hpp"

namespace mla::harness {

/// How every case of a run is run.
struct CaseOptions {
  RunMode mode = RunMode::check_and_measure;
  ChildLimits limits;
  bool metamorphic = false;
  MeasureOptions measure = {};
};

/// Makes the inputs and the oracle of one problem once and runs providers on them.
class CaseRunner {
 public:
  /// All must outlive the runner.
  CaseRunner(const DecodeProblem& problem, const CaseOptions& options, std::span<const Ceiling> ceilings)
      : problem_(problem), options_(options), ceilings_(ceilings) {}

  /// The part of a report's case that running determines: verdict, reason and what was found. None where the user
  /// interrupted: the case was not run.
  [[nodiscard]] std::optional<nlohmann::ordered_json> run(const Provider& provider);

 private:
  // Inputs and oracle, ready for every provider with the same fp8 encoding; or why there are none.
  struct Preparation {
    std::optional<Arena> arena;
    nlohmann::ordered_json result;   // of prepare_decode
    nlohmann::ordered_json failure;  // verdict and reason for every case of the problem, null where all went well
    bool charged = false;            // its time stands in a case's record
  };

  [[nodiscard]] Preparation prepare(const DecodeLayout& layout) const;
  [[nodiscard]] bool interrupted() const { return options_.limits.interrupted && options_.limits.interrupted(); }
  static void charge_preparation(nlohmann::ordered_json& outcome, Preparation& ready);

  const DecodeProblem& problem_;
  const CaseOptions& options_;
  std::span<const Ceiling> ceilings_;
  // Keyed by encoding: a problem's plain `fp8` is another problem on a target with the other encoding.
  std::map<DataType, Preparation> preparations_;
};

}  // namespace mla::harness
