// A report as the rest of this folder sees it: typed, checked, and beside each typed part the JSON it came from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace mla::reports {

/// Keeps the order of members, so that a report reads as it was written.
using Json = nlohmann::ordered_json;

enum class Verdict : std::uint8_t {
  passed,
  failed,           // wrong result
  mistrusted,       // the inputs could not have shown a wrong result: not a pass
  skipped,          // not run, with a typed reason
  unimplemented,    // the provider does not have the operation
  crashed,          // the case's process died
  timeout,          // the case's process was killed at its time limit
  known_failure,    // failed, and the suite says so
  unexpected_pass,  // passed, and the suite says it fails: the suite must be corrected
};

inline constexpr std::array kVerdicts = {Verdict::passed,  Verdict::failed,        Verdict::mistrusted,
                                         Verdict::skipped, Verdict::unimplemented, Verdict::crashed,
                                         Verdict::timeout, Verdict::known_failure, Verdict::unexpected_pass};

[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] std::optional<Verdict> verdict_from(std::string_view name);

/// The case ran and its answer must not be used: failed, crashed, timeout or mistrusted.
[[nodiscard]] bool is_wrong(Verdict verdict);
/// The case was not run at all: skipped or unimplemented.
[[nodiscard]] bool is_unchecked(Verdict verdict);

/// Why a case has its verdict: `kind` is a fixed name that programs may test, `message` one line for people.
struct Reason {
  std::string kind;
  std::string message;
};

struct SuiteName {
  std::string suite;
  std::string name;
};

struct Kernel {
  std::string name;
  std::string variant;
  std::string digest;  // of the code that ran: two equal digests mean the same kernel
};

struct CeilingShare {
  std::string bound;  // "memory" or "compute": which ceiling is nearer
  std::string name;   // of a Ceiling
  double percent = 0;
};

struct StageTime {
  std::string stage;
  double ns = 0;
};

/// What a driver told of the device at one moment; what it did not tell is absent.
struct ClockReading {
  std::optional<double> sm_mhz;  // of a GPU's compute units
  std::optional<double> memory_mhz;
  std::optional<double> cpu_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<std::vector<std::string>> throttle;  // what holds the clock down, empty where nothing does
};

/// Around a measurement.
struct Clocks {
  std::string source;  // "nvml", "amdsmi" or "cpufreq"
  ClockReading start;
  ClockReading end;
};

/// Present only where the case passed: a wrong kernel has no speed.
struct Performance {
  std::string timer;
  std::string cache;                                   // "hot", or how caches were made cold
  std::vector<std::vector<double>> launch_samples_ns;  // one list a process launch, never empty
  double median_ns = 0;
  double ci95_low_ns = 0;
  double ci95_high_ns = 0;
  double bytes = 0;
  double flops = 0;
  double tb_per_s = 0;
  double tflop_per_s = 0;
  std::optional<CeilingShare> ceiling;
  std::vector<StageTime> stages;
  std::optional<Clocks> clocks;
};

struct Case {
  std::string key;  // "<problem> @<provider>", unique in a report
  std::string repro;
  std::string problem;
  std::string provider;
  std::string device;
  std::vector<SuiteName> suites;
  std::optional<Kernel> kernel;
  std::string input_digest;
  Verdict verdict = Verdict::passed;
  std::optional<Reason> reason;
  std::optional<Reason> locus;  // what a wrong result looks like
  std::optional<Performance> performance;
  std::vector<std::pair<std::string, double>> elapsed_ms;
  Json json;  // the whole case as read

  /// Name in the first suite that holds the case, else the problem word.
  [[nodiscard]] const std::string& short_name() const;
  /// Worst ratio of error to bound over the tiers of the check; none where nothing was checked.
  [[nodiscard]] std::optional<double> worst_ratio() const;
};

struct Ceiling {
  std::string name;
  std::string device;
  std::optional<double> value;  // none where the machine has no such path; `note` says why
  std::string unit;
  std::string note;
};

struct Run {
  std::string id;
  std::string started_utc;
  std::string ended_utc;  // empty where the run did not end by itself
  bool complete = false;
  std::vector<std::string> argv;
  std::string version;
  std::string git_sha;  // 40 hexadecimal digits, or empty outside a git tree
  std::string git_branch;
  bool git_dirty = false;
  std::string compiler;
  std::string build_type;
  std::string build_flags;
  std::vector<std::string> targets;
  std::string mode;  // "C", "P" or "CP"
  std::uint64_t seed = 0;
  std::int64_t shard_index = 1;  // from 1
  std::int64_t shard_count = 1;
  std::vector<std::string> suites;
};

struct Environment {
  std::string host;
  std::string os;
  std::string cpu_model;
  std::int64_t cores = 0;
  std::string gpu_name;     // empty without a GPU
  std::string fingerprint;  // equal where times may be compared
};

struct ProviderRatio {
  std::string problem;
  std::string provider;
  std::string baseline;
  double speedup = 0;  // baseline's median time over the provider's
};

struct Counts {
  std::array<std::int64_t, kVerdicts.size()> by_verdict{};
  std::int64_t total = 0;

  [[nodiscard]] std::int64_t of(Verdict verdict) const { return by_verdict[static_cast<std::size_t>(verdict)]; }
  void add(Verdict verdict) {
    ++by_verdict[static_cast<std::size_t>(verdict)];
    ++total;
  }
};

struct Report {
  int minor = 0;  // of the schema that the file was written with
  Run run;
  Environment environment;
  std::vector<Ceiling> ceilings;
  std::vector<Case> cases;
  Counts counts;
  double elapsed_s = 0;
  std::vector<ProviderRatio> provider_ratios;
  std::vector<std::string> warnings;  // one line each: what a reader should know before trusting the rest
  Json header;                        // members schema, run, environment and ceilings as read
};

/// Checks a whole report document. Throws ReportError naming the JSON pointer of the offending field, its value and the
/// rule it breaks. Takes the document apart: give it with std::move where it is not needed afterwards.
[[nodiscard]] Report parse_report(Json document);

/// "passed 12, failed 1, skipped 3": verdicts that occur, in their fixed order.
[[nodiscard]] std::string text_of(const Counts& counts);

}  // namespace mla::reports
