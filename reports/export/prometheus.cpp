#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reports/export/formats.hpp"

namespace mla::reports {
namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Inside a label's quotes: backslash, quote and line feed are escaped; any other UTF-8 is allowed.
std::string label_value(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

class Exposition {
 public:
  /// Begins a family: its samples must follow directly.
  void family(std::string_view name, std::string_view help) {
    name_ = fmt::format("mla_harness_{}", name);
    text_ += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name_, help, name_);
  }

  void sample(Labels labels, double value) {
    text_ += name_;
    std::string_view separator = "{";
    for (const auto& [label, of] : labels) {
      text_ += fmt::format("{}{}=\"{}\"", separator, label, label_value(of));
      separator = ",";
    }
    text_ += fmt::format("{} {}\n", labels.size() > 0 ? "}" : "", value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

void add_run(Exposition& out, const Report& report) {
  const Run& run = report.run;
  const Environment& machine = report.environment;
  const std::string& device = machine.gpu_name.empty() ? machine.cpu_model : machine.gpu_name;
  out.family("run_info", "The run that the other samples come from.");
  out.sample({{"run", run.id},
              {"started", run.started_utc},
              {"commit", run.git_sha},
              {"branch", run.git_branch},
              {"version", run.version},
              {"host", machine.host},
              {"device", device},
              {"fingerprint", machine.fingerprint}},
             1);
  out.family("run_complete", "1 where the run reached its end.");
  out.sample({}, run.complete ? 1 : 0);
  out.family("run_elapsed_seconds", "Time that the run took.");
  out.sample({}, report.elapsed_s);
  out.family("cases", "Cases by verdict.");
  for (const Verdict verdict : kVerdicts) {
    out.sample({{"verdict", name_of(verdict)}}, static_cast<double>(report.counts.of(verdict)));
  }
}

void add_ceilings(Exposition& out, const Report& report) {
  out.family("ceiling", "What the machine reached in the same run, in the unit of its label.");
  for (const Ceiling& ceiling : report.ceilings) {
    if (!ceiling.value) continue;
    out.sample({{"name", ceiling.name}, {"device", ceiling.device}, {"unit", ceiling.unit}}, *ceiling.value);
  }
}

using CaseValue = std::function<std::optional<double>(const Case&)>;

void add_cases(Exposition& out, const Report& report, std::string_view name, std::string_view help,
               const CaseValue& value_of) {
  out.family(name, help);
  for (const Case& entry : report.cases) {
    if (const auto value = value_of(entry)) {
      out.sample({{"problem", entry.problem}, {"provider", entry.provider}, {"name", entry.short_name()}}, *value);
    }
  }
}

/// A value of the cases that were measured.
template <class Value>
CaseValue measured(Value value_of) {
  return [value_of](const Case& entry) {
    return entry.performance ? std::optional<double>(value_of(*entry.performance)) : std::nullopt;
  };
}

}  // namespace

std::string prometheus_text(const Report& report) {
  Exposition out;
  add_run(out, report);
  add_ceilings(out, report);
  add_cases(out, report, "case_passed", "1 where the case passed, 0 where it ran and did not.",
            [](const Case& entry) -> std::optional<double> {
              if (is_unchecked(entry.verdict)) return std::nullopt;
              return entry.verdict == Verdict::passed ? 1 : 0;
            });
  add_cases(out, report, "case_error_ratio", "Worst error over its bound; above 1 is wrong.",
            [](const Case& entry) { return entry.worst_ratio(); });
  add_cases(out, report, "case_time_seconds", "Median time of a call.",
            measured([](const Performance& p) { return p.median_ns / 1e9; }));
  add_cases(out, report, "case_time_low_seconds", "Lower end of the median's 95 % interval.",
            measured([](const Performance& p) { return p.ci95_low_ns / 1e9; }));
  add_cases(out, report, "case_time_high_seconds", "Upper end of the median's 95 % interval.",
            measured([](const Performance& p) { return p.ci95_high_ns / 1e9; }));
  add_cases(out, report, "case_bytes_per_second", "Bytes of the ideal algorithm over the median time.",
            measured([](const Performance& p) { return p.tb_per_s * 1e12; }));
  add_cases(out, report, "case_flops_per_second",
            "Floating-point operations of the ideal algorithm over the median time.",
            measured([](const Performance& p) { return p.tflop_per_s * 1e12; }));
  add_cases(out, report, "case_ceiling_ratio", "Share of the nearer ceiling that was reached.",
            [](const Case& entry) -> std::optional<double> {
              if (!entry.performance || !entry.performance->ceiling) return std::nullopt;
              return entry.performance->ceiling->percent / 100;
            });
  return out.take();
}

}  // namespace mla::reports
