// The rules of one case, whichever form its JSON has: nlohmann_json's, whose refusals say where and why (Field), or
// simdjson's, which is read several times faster (DomField).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"
#include "reports/version.hpp"

namespace mla::reports::detail {

/// Unknown members are errors up to the minor this code knows, and nothing to look at beyond it.
template <class Field>
void only_known(const Field& object, int minor, std::initializer_list<std::string_view> members) {
  if (minor <= kReportMinor) {
    object.only(members);
  } else {
    object.object();
  }
}

template <class Field>
class CaseReader {
 public:
  /// `minor` is the schema minor of the case's file.
  explicit CaseReader(int minor) : minor_(minor) {}

  /// All of a case but `Case::json`.
  [[nodiscard]] Case read(const Field& field) const {
    known(field,
          {"key", "repro", "problem", "provider", "device", "suites", "kernel", "axes", "input_digest", "verdict",
           "reason", "locus", "metamorphic", "known_failure", "correctness", "safety", "performance", "elapsed_ms"});
    Case result;
    result.problem = field.at("problem").nonempty();
    result.provider = field.at("provider").nonempty();
    check_key(field, result);
    result.repro = field.at("repro").nonempty();
    result.device = field.at("device").nonempty();
    result.suites = read_suites(field.at("suites"));
    if (const auto kernel = field.find("kernel")) result.kernel = read_kernel(*kernel);
    check_axes(field.at("axes"));
    if (const auto digest = field.find("input_digest")) result.input_digest = digest->text();
    result.verdict = read_verdict(field.at("verdict"));
    read_reason(field, result);
    read_findings(field, result);
    if (const auto correctness = field.find("correctness")) check_correctness(*correctness);
    if (const auto safety = field.find("safety")) check_safety(*safety);
    if (const auto performance = field.find("performance")) {
      if (result.verdict != Verdict::passed) performance->refuse("only a passed case has a performance");
      result.performance = read_performance(*performance);
    }
    if (const auto elapsed = field.find("elapsed_ms")) {
      elapsed->object().each_member([&](std::string_view stage, const Field& time) {
        result.elapsed_ms.emplace_back(std::string(stage), time.at_least_zero());
      });
    }
    return result;
  }

 private:
  void known(const Field& object, std::initializer_list<std::string_view> members) const {
    only_known(object, minor_, members);
  }

  // --- what was run
  // ---------------------------------------------------------------------------------------------------

  static void check_key(const Field& field, Case& report_case) {
    const Field key = field.at("key");
    report_case.key = key.nonempty();
    const std::string_view whole = report_case.key;
    const std::string& problem = report_case.problem;
    const std::string& provider = report_case.provider;
    if (whole.size() != problem.size() + 2 + provider.size() || !whole.starts_with(problem) ||
        whole.substr(problem.size(), 2) != " @" || !whole.ends_with(provider)) {
      key.refuse("must be the problem, ' @' and the provider of its case");
    }
  }

  [[nodiscard]] std::vector<SuiteName> read_suites(const Field& field) const {
    std::vector<SuiteName> suites;
    field.array().each([&](const Field& suite) {
      known(suite, {"suite", "name", "source"});
      SuiteName& entry = suites.emplace_back();
      entry.suite = suite.at("suite").nonempty();
      if (const auto name = suite.find("name")) entry.name = name->text();
      if (const auto source = suite.find("source")) (void)source->text();
    });
    return suites;
  }

  [[nodiscard]] Kernel read_kernel(const Field& field) const {
    known(field, {"name", "variant", "digest"});
    Kernel kernel;
    kernel.name = field.at("name").text();
    kernel.variant = field.at("variant").text();
    kernel.digest = field.at("digest").text();
    return kernel;
  }

  static void check_axes(const Field& axes) {
    axes.object().each_member([](std::string_view, const Field& axis) {
      if (axis.is_structured()) axis.refuse("must be a string, a number, true, false or null");
      if (axis.is_number()) (void)axis.number();
    });
  }

  // --- verdict
  // --------------------------------------------------------------------------------------------------------

  static Verdict read_verdict(const Field& field) {
    const auto verdict = verdict_from(field.text());
    if (!verdict) field.refuse("must be one of the nine verdicts passed, failed, mistrusted, skipped, ...");
    return *verdict;
  }

  [[nodiscard]] Reason reason_of(const Field& field) const {
    known(field, {"kind", "message"});
    Reason reason;
    reason.kind = field.at("kind").nonempty();
    reason.message = field.at("message").text();
    return reason;
  }

  void read_reason(const Field& field, Case& report_case) const {
    if (const auto reason = field.find("reason")) {
      report_case.reason = reason_of(*reason);
      return;
    }
    if (report_case.verdict != Verdict::passed && report_case.verdict != Verdict::unexpected_pass) {
      field.at("verdict").refuse("needs a member 'reason' beside it with kind and message");
    }
  }

  void read_findings(const Field& field, Case& result) const {
    if (const auto locus = field.find("locus")) result.locus = reason_of(*locus);
    if (const auto relations = field.find("metamorphic")) {
      relations->array().each([&](const Field& relation) { check_metamorphic(relation); });
    }
    if (const auto failure = field.find("known_failure")) check_known_failure(*failure);
  }

  void check_metamorphic(const Field& relation) const {
    known(relation, {"relation", "verdict", "message", "max_ratio", "bitwise"});
    (void)relation.at("relation").nonempty();
    check_outcome(relation.at("verdict"));
    (void)relation.at("message").text();
    check_number_or_null(relation, "max_ratio");
    if (const auto bitwise = relation.find("bitwise")) (void)bitwise->boolean();
  }

  void check_known_failure(const Field& field) const {
    known(field, {"reason", "source", "expires", "expired", "verdict"});
    for (const char* text : {"reason", "source", "expires", "verdict"}) (void)field.at(text).nonempty();
    (void)field.at("expired").boolean();
  }

  // --- correctness
  // ----------------------------------------------------------------------------------------------------

  static void check_number_or_null(const Field& object, std::string_view key) {
    if (const auto number = object.find(key)) (void)number->at_least_zero();
  }

  /// An output value: a number, null where none was produced, or the name of what JSON cannot write.
  static void check_output_value(const Field& object, std::string_view key) {
    const auto value = object.nullable(key);
    if (!value) return;
    if (value->is_number()) {
      (void)value->number();
      return;
    }
    if (!value->is_text("nan") && !value->is_text("inf") && !value->is_text("-inf")) {
      value->refuse("must be a number, null, 'nan', 'inf' or '-inf'");
    }
  }

  void check_worst(const Field& worst) const {
    known(worst, {"tier", "index", "got", "ref", "ratio"});
    (void)worst.at("tier").nonempty();
    worst.at("index").object().each_member([](std::string_view, const Field& index) { (void)index.integer(-1); });
    check_output_value(worst, "got");
    check_output_value(worst, "ref");
    check_number_or_null(worst, "ratio");
  }

  static void check_outcome(const Field& verdict) {
    const std::string_view name = verdict.text();
    if (name != "passed" && name != "failed" && name != "skipped") {
      verdict.refuse("must be 'passed', 'failed' or 'skipped'");
    }
  }

  static void check_tier(const Field& tier) {
    check_outcome(tier.at("verdict"));
    check_number_or_null(tier, "max_ratio");
  }

  static void check_tiers(const Field& tiers) {
    tiers.object().each_member([](std::string_view, const Field& tier) { check_tier(tier); });
  }

  void check_worst_list(const Field& owner) const {
    if (const auto worst = owner.find("worst")) {
      worst->array().each([&](const Field& element) { check_worst(element); });
    }
  }

  void check_distribution(const Field& field) const {
    known(field, {"tiers", "abs_max", "rel_l2", "worst"});
    check_tiers(field.at("tiers"));
    check_number_or_null(field, "abs_max");
    check_number_or_null(field, "rel_l2");
    check_worst_list(field);
  }

  void check_probe(const Field& field) const {
    known(field, {"verdict", "max_ratio"});
    check_tier(field);
  }

  void check_signal(const Field& field) const {
    known(field, {"hard", "stat", "lse", "probes"});
    for (const char* tier : {"hard", "stat", "lse", "probes"}) check_number_or_null(field, tier);
  }

  void check_correctness(const Field& field) const {
    known(field, {"reference", "precision", "elements", "rows", "tiers", "nonfinite", "abs_max", "rel_l2",
                  "distributions", "probes", "detectability", "worst"});
    (void)field.at("reference").nonempty();
    if (const auto precision = field.find("precision")) precision->object();
    (void)field.at("elements").integer(0);
    (void)field.at("rows").integer(0);
    check_tiers(field.at("tiers"));
    if (const auto nonfinite = field.find("nonfinite")) {
      known(*nonfinite, {"got", "ref"});
      (void)nonfinite->at("got").integer(0);
      (void)nonfinite->at("ref").integer(0);
    }
    check_number_or_null(field, "abs_max");
    check_number_or_null(field, "rel_l2");
    const auto each_in = [&](std::string_view member, void (CaseReader::*check)(const Field&) const) {
      if (const auto object = field.find(member)) {
        object->object().each_member([&](std::string_view, const Field& entry) { (this->*check)(entry); });
      }
    };
    each_in("distributions", &CaseReader::check_distribution);
    each_in("probes", &CaseReader::check_probe);
    each_in("detectability", &CaseReader::check_signal);
    check_worst_list(field);
  }

  void check_safety(const Field& field) const {
    known(field, {"canary", "poison_left", "inputs_unchanged", "bitwise_repeats", "bitwise_equal"});
    if (const auto canary = field.find("canary")) (void)canary->nonempty();
    if (const auto poison = field.find("poison_left")) (void)poison->integer(0);
    if (const auto unchanged = field.find("inputs_unchanged")) (void)unchanged->boolean();
    if (const auto repeats = field.find("bitwise_repeats")) (void)repeats->integer(0);
    if (const auto equal = field.find("bitwise_equal")) (void)equal->boolean();
  }

  // --- performance
  // ----------------------------------------------------------------------------------------------------

  static void read_samples(const Field& launches, Performance& performance) {
    launches.array(1).each([&](const Field& launch) {
      std::vector<double>& samples = performance.launch_samples_ns.emplace_back();
      samples.reserve(launch.array(1).size());
      launch.each([&](const Field& sample) { samples.push_back(sample.above_zero()); });
    });
  }

  /// The median must come from the samples beside it: whoever edits one by hand has to be told.
  static void check_median(const Field& median, const Performance& performance) {
    double low = performance.launch_samples_ns.front().front();
    double high = low;
    for (const auto& launch : performance.launch_samples_ns) {
      const auto [least, most] = std::minmax_element(launch.begin(), launch.end());
      low = std::min(low, *least);
      high = std::max(high, *most);
    }
    if (performance.median_ns < low || performance.median_ns > high) median.refuse("must lie within launch_samples_ns");
  }

  static void read_interval(const Field& interval, Performance& performance) {
    std::vector<double> bounds;
    interval.array(2, 2).each([&](const Field& bound) { bounds.push_back(bound.above_zero()); });
    performance.ci95_low_ns = bounds[0];
    performance.ci95_high_ns = bounds[1];
    if (performance.ci95_low_ns > performance.ci95_high_ns) interval.refuse("must be in ascending order");
  }

  [[nodiscard]] CeilingShare read_share(const Field& field) const {
    known(field, {"bound", "name", "percent"});
    CeilingShare share;
    share.bound = field.at("bound").nonempty();
    share.name = field.at("name").nonempty();
    share.percent = field.at("percent").at_least_zero();
    return share;
  }

  [[nodiscard]] ClockReading read_clock_reading(const Field& field) const {
    known(field, {"sm_mhz", "memory_mhz", "cpu_mhz", "power_w", "temperature_c", "throttle"});
    const auto positive = [&](std::string_view name) -> std::optional<double> {
      const auto value = field.find(name);
      if (!value) return std::nullopt;
      return value->at_least_zero();
    };
    ClockReading reading;
    reading.sm_mhz = positive("sm_mhz");
    reading.memory_mhz = positive("memory_mhz");
    reading.cpu_mhz = positive("cpu_mhz");
    reading.power_w = positive("power_w");
    if (const auto value = field.find("temperature_c")) reading.temperature_c = value->number();
    if (const auto reasons = field.find("throttle")) {
      reading.throttle.emplace();
      reasons->array().each([&](const Field& reason) { reading.throttle->emplace_back(reason.nonempty()); });
    }
    return reading;
  }

  [[nodiscard]] Clocks read_clocks(const Field& field) const {
    known(field, {"source", "start", "end"});
    Clocks clocks;
    clocks.source = field.at("source").nonempty();
    clocks.start = read_clock_reading(field.at("start"));
    clocks.end = read_clock_reading(field.at("end"));
    return clocks;
  }

  [[nodiscard]] Performance read_performance(const Field& field) const {
    known(field, {"timer", "cache", "launch_samples_ns", "median_ns", "ci95_ns", "bytes", "flops", "tb_per_s",
                  "tflop_per_s", "ceiling", "stages_ns", "clocks"});
    Performance performance;
    performance.timer = field.at("timer").nonempty();
    performance.cache = field.at("cache").nonempty();
    read_samples(field.at("launch_samples_ns"), performance);
    const Field median = field.at("median_ns");
    performance.median_ns = median.above_zero();
    check_median(median, performance);
    read_interval(field.at("ci95_ns"), performance);
    performance.bytes = field.at("bytes").at_least_zero();
    performance.flops = field.at("flops").at_least_zero();
    performance.tb_per_s = field.at("tb_per_s").at_least_zero();
    performance.tflop_per_s = field.at("tflop_per_s").at_least_zero();
    if (const auto ceiling = field.find("ceiling")) performance.ceiling = read_share(*ceiling);
    if (const auto stages = field.find("stages_ns")) {
      stages->array().each([&](const Field& stage) {
        known(stage, {"stage", "ns"});
        StageTime& time = performance.stages.emplace_back();
        time.stage = stage.at("stage").nonempty();
        time.ns = stage.at("ns").at_least_zero();
      });
    }
    if (const auto clocks = field.find("clocks")) performance.clocks = read_clocks(*clocks);
    return performance;
  }

  int minor_;
};

}  // namespace mla::reports::detail
