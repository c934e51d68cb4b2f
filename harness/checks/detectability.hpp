// Could this case have shown a fault? A check that passes says nothing about errors smaller than it allows, and how
// small that is depends on the inputs: on a near-uniform softmax no rule sees a scale that is 1 % off.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checks/check_decode.hpp"
#include "harness/inputs/probe_pattern.hpp"

namespace mla::harness {

/// Small faults that each case must be able to show.
enum class SmallFault : std::uint8_t {
  dropped_token,  // the visible token of median weight is not seen
  scale,          // the softmax scale is 1 % too large
  mask_shift,     // the mask ends one token early: the last visible one is not seen
};
inline constexpr int kSmallFaults = 3;
[[nodiscard]] std::string_view name_of(SmallFault fault);

/// What a fault would do to each tier, in a unit in which 3 is where the tier reports it. In "stat" that is z: the root
/// mean square over a row of the change over its standard error. In the tiers that are bounds it is three times the
/// change over the bound. None where the tier was not run, or the fault changes nothing that there is (no row sees a
/// token).
struct Signal {
  std::optional<double> hard;
  std::optional<double> stat;
  std::optional<double> lse;
  std::optional<double> probes;

  [[nodiscard]] std::optional<double> best() const;
  /// Keeps the larger of each tier.
  void merge(const Signal& other);
};

struct Detectability {
  static constexpr double kEnough = 3;

  std::array<Signal, kSmallFaults> signals;

  [[nodiscard]] Signal& of(SmallFault fault) { return signals[static_cast<std::size_t>(fault)]; }
  [[nodiscard]] const Signal& of(SmallFault fault) const { return signals[static_cast<std::size_t>(fault)]; }
  void merge(const Detectability& other);
  /// The faults that no tier would have reported.
  [[nodiscard]] std::vector<SmallFault> hidden() const;
};

/// One line on the faults that are hidden: "a scale 1 % off would not show: ...".
[[nodiscard]] std::string hidden_text(const Detectability& detectability);

/// From the reference's own probabilities, computed anew for a sample of rows: at most 8, at most a sixteenth of the
/// rows so that it costs little beside the oracle, and always one of the longest request. A token lost or a mask
/// shifted may concern any one row: the row that shows it least counts. A wrong scale concerns all: the row that shows
/// it most.
[[nodiscard]] Detectability detectability(const DecodeProblem& problem, const DecodeInputs& inputs,
                                          const reference::DecodeOracle& oracle, const Precision& precision);

/// The same for the exact probes, from the longest request: a uniform row shows a lost token and a shifted mask, a
/// falling one a wrong scale.
[[nodiscard]] Detectability probe_detectability(const DecodeProblem& problem, const ProbePattern& pattern,
                                                const Precision& precision);

}  // namespace mla::harness
