// The interface behind which every implementation under test sits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/inputs/decode_inputs.hpp"
#include "harness/problem/problem.hpp"
#include "mla/decode.hpp"

namespace mla::harness {

/// Why a case is not run. Each has a fixed name in reports.
enum class SkipReason : std::uint8_t {
  none,
  unsupported_operation,  // the provider does not implement the operation
  unsupported_dtype,      // the target has no such element type, or not this fp8 encoding
  unsupported_shape,      // heads, q_len or page size outside what the kernel was built for
  not_enough_memory,      // inputs, oracle and outputs would not fit
  no_device,              // the provider's device is not on this machine
  filtered,               // the suite excludes this provider
};

[[nodiscard]] std::string_view name_of(SkipReason reason);

/// Answer to "can this provider run that problem?".
struct Support {
  SkipReason reason = SkipReason::none;
  std::string detail;
  [[nodiscard]] bool ok() const { return reason == SkipReason::none; }
};

/// What ran: part of the case's record, so that two reports can tell whether the code changed.
struct KernelInfo {
  std::string name;
  std::string variant;
  std::string digest;
};

/// Durations of one launch's stages in nanoseconds, where the provider can tell them apart.
struct StageTime {
  std::string stage;  // "plan", "decode", "merge"
  double ns = 0;
};

/// What the caches hold when a timed launch begins: its inputs, or none of them.
enum class CacheState : std::uint8_t { hot, cold };

/// A decode problem made ready on a provider. Inputs and outputs outlive it.
class DecodeExecution {
 public:
  virtual ~DecodeExecution() = default;
  /// One launch: reads the inputs, writes the outputs; returns when a following `fetch` or `run` may be issued.
  virtual void run() = 0;
  /// Makes the outputs (guard zones included) visible in the harness's own buffers. Nothing to do on a CPU.
  virtual void fetch() {}
  /// The harness has written other inputs into its buffers: whoever keeps copies of them must make new ones, so that
  /// the next `run` answers for these.
  virtual void refresh_inputs() {}
  [[nodiscard]] virtual KernelInfo kernel() const = 0;
  [[nodiscard]] virtual Precision precision() const = 0;
  /// One launch and its duration in nanoseconds. By default the host's clock around `run`; a device overrides it with
  /// its own clock, and may spread one call over several launches and buffers: then this is the time of one of them.
  /// (Inline: a provider's module that is opened at run time has no other code of the harness.)
  [[nodiscard]] virtual double timed_run() {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }
  [[nodiscard]] virtual std::string timer() const { return "steady_clock"; }
  /// Asks for a state of the caches before timed launches; without this call it is the one that suits the device. False
  /// where the implementation cannot bring it about: it reads the harness's own buffers, and the harness does.
  virtual bool set_cache(CacheState) { return false; }
  /// State of the caches before a timed launch: "hot", or how they were made cold.
  [[nodiscard]] virtual std::string cache_regime() const { return "hot"; }
  /// PCI address of the device that does the work, as in "0000:c1:00.0": its driver is asked for clocks. "" on a CPU.
  [[nodiscard]] virtual std::string pci_address() const { return {}; }
  /// Stage times of one separate, instrumented launch; empty where stages are not told apart.
  [[nodiscard]] virtual std::vector<StageTime> stage_times() { return {}; }
};

/// What a provider is given: views on the problem's buffers in host memory.
struct DecodeCase {
  const DecodeProblem& problem;
  const DecodeLayout& layout;
  DecodeInputBuffers inputs;
  DecodeOutputBuffers outputs;
};

/// An implementation. Stateless between cases; each case runs in a process of its own.
class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view description() const = 0;
  /// "cpu" or "gpu": where the time is spent, and so which ceilings apply.
  [[nodiscard]] virtual std::string_view device() const { return "cpu"; }
  /// Whether a run that names no provider includes this one; not those that are too slow for it.
  [[nodiscard]] virtual bool runs_by_default() const { return true; }
  /// Where this provider replays a captured graph: one that launches the same kernels one by one. Null elsewhere.
  [[nodiscard]] virtual std::unique_ptr<Provider> eager() const { return nullptr; }
  /// The encoding that a problem's plain `fp8` stands for.
  [[nodiscard]] virtual DataType native_fp8() const { return DataType::e4m3fn; }

  [[nodiscard]] virtual Support supports(const DecodeProblem&) const {
    return {SkipReason::unsupported_operation, "decode is not implemented"};
  }
  /// Called only where `supports` said yes. May throw; a throw is a failed case, not the end of the run.
  [[nodiscard]] virtual std::unique_ptr<DecodeExecution> prepare(const DecodeCase&) const { return nullptr; }
};

using ProviderList = std::vector<std::unique_ptr<Provider>>;

}  // namespace mla::harness
