#include "reports/summary.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/detail/table.hpp"
#include "reports/detail/text.hpp"

namespace mla::reports {
namespace {

using detail::Ink;

constexpr std::size_t kMaxRows = 200;  // of the table; wrong cases are listed after it whatever their number
constexpr int kMinColumns = 60;

Ink ink_of(Verdict verdict) {
  if (is_wrong(verdict) || verdict == Verdict::unexpected_pass) return Ink::red;
  return verdict == Verdict::passed ? Ink::green : Ink::yellow;
}

/// Names of the table's first column. A name that two different problems share, in two suites say, tells neither.
class Names {
 public:
  explicit Names(const Report& report) {
    for (const Case& entry : report.cases) {
      const auto [at, added] = problem_of_.emplace(entry.short_name(), entry.problem);
      if (!added && at->second != entry.problem) at->second.clear();
    }
  }
  const std::string& operator()(const Case& entry) const {
    const std::string& name = entry.short_name();
    return problem_of_.at(name).empty() ? entry.problem : name;
  }

 private:
  std::map<std::string, std::string> problem_of_;
};

/// Cases ordered so that the providers of a problem stand together, problems in the order in which they ran.
std::vector<const Case*> by_problem(const Report& report) {
  std::map<std::string_view, std::size_t> order;
  std::vector<const Case*> cases;
  for (const Case& entry : report.cases) {
    order.emplace(entry.problem, order.size());
    cases.push_back(&entry);
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const Case* a, const Case* b) { return order.at(a->problem) < order.at(b->problem); });
  return cases;
}

std::map<std::string, const ProviderRatio*> ratios_by_key(const Report& report) {
  std::map<std::string, const ProviderRatio*> ratios;
  for (const ProviderRatio& ratio : report.provider_ratios) ratios[ratio.problem + " @" + ratio.provider] = &ratio;
  return ratios;
}

/// Unit of a column of rates. A CPU's rates in units of a GPU's would be all zeros: the largest value chooses.
struct RateUnit {
  std::string_view name;
  double per_tera;  // what a rate in 10^12 a second is multiplied by
};

RateUnit unit_of(const Report& report, double Performance::*rate, std::string_view tera, std::string_view giga) {
  double most = 0;
  for (const Case& entry : report.cases) {
    if (entry.performance) most = std::max(most, (*entry.performance).*rate);
  }
  return most > 0 && most < 0.5 ? RateUnit{giga, 1e3} : RateUnit{tera, 1};
}

std::string table(const Report& report, const SummaryStyle& style) {
  const RateUnit bandwidth = unit_of(report, &Performance::tb_per_s, "TB/s", "GB/s");
  const RateUnit rate = unit_of(report, &Performance::tflop_per_s, "TFLOP/s", "GFLOP/s");
  // What a reader misses least comes last: narrow terminals lose the last columns.
  detail::Table table({{"case", detail::Align::left},
                       {"provider", detail::Align::left},
                       {"verdict", detail::Align::left},
                       {"median", detail::Align::right},
                       {"speed-up", detail::Align::left},
                       {std::string(bandwidth.name), detail::Align::right},
                       {std::string(rate.name), detail::Align::right},
                       {"ceiling", detail::Align::right},
                       {"err/bound", detail::Align::right}});
  const Names names(report);
  const auto ratios = ratios_by_key(report);
  std::string_view previous;
  std::size_t hidden = 0;
  for (const Case* entry : by_problem(report)) {
    if (table.rows() >= kMaxRows) {
      ++hidden;
      continue;
    }
    std::vector<std::string> row = {entry->problem == previous ? "" : names(*entry), entry->provider,
                                    std::string(name_of(entry->verdict))};
    previous = entry->problem;
    row.resize(9);
    if (const auto& p = entry->performance) {
      row[3] = detail::time_text(p->median_ns);
      row[5] = detail::number_text(p->tb_per_s * bandwidth.per_tera);
      row[6] = detail::number_text(p->tflop_per_s * rate.per_tera);
      if (p->ceiling) row[7] = fmt::format("{:.0f} %", p->ceiling->percent);
    }
    if (const auto ratio = entry->worst_ratio()) row[8] = detail::number_text(*ratio);
    if (const auto at = ratios.find(entry->key); at != ratios.end()) {
      row[4] = fmt::format("{}x {}", detail::number_text(at->second->speedup), at->second->baseline);
    }
    table.add(std::move(row), ink_of(entry->verdict), /*inked_column=*/2);
  }
  std::string text = table.text(std::max(style.columns, kMinColumns), style.colour);
  if (hidden > 0)
    text += fmt::format("... and {} (all of them are in the report)\n", detail::plural(hidden, "more case"));
  return text;
}

std::string wrong_cases(const Report& report, const SummaryStyle& style) {
  std::string text;
  const Names names(report);
  for (const Case& entry : report.cases) {
    if (!is_wrong(entry.verdict) && entry.verdict != Verdict::unexpected_pass) continue;
    const std::string verdict = detail::inked(name_of(entry.verdict), ink_of(entry.verdict), style.colour);
    text += fmt::format("\n{}  {} @{}\n", verdict, detail::one_line(names(entry)), entry.provider);
    if (entry.reason) text += fmt::format("  {}: {}\n", entry.reason->kind, detail::one_line(entry.reason->message));
    if (entry.locus) text += fmt::format("  looks like: {}\n", detail::one_line(entry.locus->message));
    // Never shortened: it is there to be copied.
    text += fmt::format("  {}\n", detail::one_line(entry.repro));
  }
  return text;
}

std::string unchecked_cases(const Report& report) {
  std::map<std::string, std::size_t> kinds;
  std::size_t total = 0;
  for (const Case& entry : report.cases) {
    if (!is_unchecked(entry.verdict)) continue;
    ++kinds[entry.reason ? entry.reason->kind : "no reason given"];
    ++total;
  }
  if (total == 0) return {};
  std::string text = "not run:";
  for (const auto& [kind, count] : kinds) text += fmt::format(" {} {}", kind, count);
  return text + '\n';
}

/// The small fault that a case would have shown least, and by how much: 3 is where a tier reports.
struct Weakest {
  std::string fault;
  double signal = 0;
};

std::optional<Weakest> weakest_signal(const Case& entry) {
  const auto correctness = entry.json.find("correctness");
  if (correctness == entry.json.end() || !correctness->is_object()) return std::nullopt;
  const auto faults = correctness->find("detectability");
  if (faults == correctness->end() || !faults->is_object()) return std::nullopt;
  std::optional<Weakest> weakest;
  for (const auto& [fault, tiers] : faults->items()) {
    std::optional<double> best;
    for (const auto& [tier, signal] : tiers.items()) {
      if (signal.is_number()) best = std::max(best.value_or(0), signal.get<double>());
    }
    if (best && (!weakest || *best < weakest->signal)) weakest = Weakest{fault, *best};
  }
  return weakest;
}

/// The case that would have shown a small fault least: what a pass of all of them is worth.
std::string detectability(const Report& report) {
  const Case* weakest_case = nullptr;
  Weakest weakest;
  for (const Case& entry : report.cases) {
    const auto signal = weakest_signal(entry);
    if (!signal || (weakest_case != nullptr && signal->signal >= weakest.signal)) continue;
    weakest_case = &entry;
    weakest = *signal;
  }
  if (weakest_case == nullptr) return {};
  const Names names(report);
  return fmt::format("detectability: least {} ({} of {} @{}); 3 is needed\n", detail::number_text(weakest.signal),
                     weakest.fault, detail::one_line(names(*weakest_case)), weakest_case->provider);
}

std::string ceilings(const Report& report) {
  std::string text;
  for (const Ceiling& ceiling : report.ceilings) {
    if (!ceiling.value) continue;
    text += fmt::format("{}{} {} {}", text.empty() ? "ceilings: " : ", ", ceiling.name,
                        detail::number_text(*ceiling.value), ceiling.unit);
  }
  return text.empty() ? text : text + '\n';
}

std::string time_spent(const Report& report) {
  std::vector<std::pair<std::string, double>> stages;
  double total = 0;
  for (const Case& entry : report.cases) {
    for (const auto& [stage, ms] : entry.elapsed_ms) {
      auto at = std::find_if(stages.begin(), stages.end(), [&](const auto& known) { return known.first == stage; });
      if (at == stages.end()) at = stages.insert(at, {stage, 0});
      at->second += ms;
      total += ms;
    }
  }
  std::string text = fmt::format("time: {:.1f} s", report.elapsed_s);
  if (total <= 0) return text + '\n';
  text += " of which";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    text += fmt::format("{} {} {:.1f} s", i == 0 ? "" : ",", stages[i].first, stages[i].second / 1e3);
  }
  return text + '\n';
}

}  // namespace

std::string summary_text(const Report& report, const SummaryStyle& style) {
  std::string text;
  if (!report.cases.empty()) text += table(report, style);
  text += wrong_cases(report, style);
  text += '\n';
  for (const std::string& warning : report.warnings) text += fmt::format("note: {}\n", warning);
  text += fmt::format("{}: {}{}\n", detail::plural(static_cast<std::size_t>(report.counts.total), "case"),
                      text_of(report.counts), report.run.complete ? "" : "; the run was interrupted");
  text += unchecked_cases(report);
  text += detectability(report);
  text += ceilings(report);
  text += time_spent(report);
  return text;
}

}  // namespace mla::reports
