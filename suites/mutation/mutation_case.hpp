// One problem with its inputs and oracle, on which the emulated kernel is run with one fault after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/checks/localise.hpp"
#include "harness/runner/metamorphic.hpp"
#include "suites/checks/checked_case.hpp"
#include "suites/inputs/made_inputs.hpp"
#include "suites/mutation/fault.hpp"

namespace mla::mutation {

/// How the contents of q and kv come about.
enum class Contents : std::uint8_t {
  as_named,  // by the problem's distribution
  tenth,     // N(0, 1) / 10 within +-1, as FlashMLA's tests draw them: a tenth of the problem's, which is randn
};

class MutationCase {
 public:
  explicit MutationCase(const std::string& word, Contents contents = Contents::as_named);

  /// Runs the kernel with `fault` from poisoned outputs and checks its result.
  [[nodiscard]] harness::DecodeCheck run(const Fault& fault) const;
  /// Runs the kernel with `fault` on a few launches of the exact probes; true where one of them fails.
  [[nodiscard]] bool probes_catch(const Fault& fault) const;
  /// The metamorphic relations of the kernel with `fault`.
  [[nodiscard]] std::vector<harness::RelationResult> relations(const Fault& fault) const;
  /// What the last result looks like.
  [[nodiscard]] std::optional<harness::Locus> locus() const;

  [[nodiscard]] const harness::DecodeProblem& problem() const { return made_.problem; }
  [[nodiscard]] DecodeInputs inputs() const { return made_.views(); }
  [[nodiscard]] const reference::DecodeOracle& oracle() const { return oracle_.oracle; }
  [[nodiscard]] Precision precision() const;
  /// out [rows, 512] and lse [rows] of the last result.
  [[nodiscard]] std::vector<double> out() const;
  [[nodiscard]] std::vector<double> lse() const;

 private:
  void launch(const Fault& fault, const harness::MadeInputs& on) const;

  harness::MadeInputs made_;
  harness::OracleOf oracle_;
  harness::Arena arena_;
  harness::DecodeOutputBuffers outputs_;
};

/// Names of what caught it: the tiers that failed, and the kinds of the failures. Empty for a pass.
[[nodiscard]] std::vector<std::string> caught_by(const harness::DecodeCheck& check);

/// Whether one of `names` is among those that `tiers` joins by '|'.
[[nodiscard]] bool any_of_tiers(std::string_view tiers, const std::vector<std::string>& names);

}  // namespace mla::mutation
