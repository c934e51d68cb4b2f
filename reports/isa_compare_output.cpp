#include <string>

#include <fmt/format.h>

#include "reports/detail/markdown.hpp"
#include "reports/detail/table.hpp"
#include "reports/detail/text.hpp"
#include "reports/isa_compare.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace {

using detail::Align;
using detail::Ink;

std::string verdict_line(const IsaComparison& comparison) {
  const std::size_t worse = comparison.count(IsaChange::worse);
  const std::string compared = fmt::format("{} compared", detail::plural(comparison.kernels, "kernel"));
  if (worse > 0) return fmt::format("REGRESSION: {} got worse; {}", detail::plural(worse, "budgeted number"), compared);
  if (comparison.changed.empty()) return fmt::format("OK: no change; {}", compared);
  return fmt::format("OK: {} changed, no budgeted number got worse; {}",
                     detail::plural(comparison.changed.size(), "kernel"), compared);
}

std::string kernel_text(const IsaKernelComparison& kernel) {
  return fmt::format("{} {}", kernel.target, kernel.name);
}

// "+12 (5.0 %)"; no share of nothing.
std::string delta_text(const IsaDifference& difference) {
  const std::int64_t delta = difference.next - difference.base;
  if (difference.base == 0) return fmt::format("{:+}", delta);
  return fmt::format("{:+} ({:+.1f} %)", delta,
                     100 * static_cast<double>(delta) / static_cast<double>(difference.base));
}

std::string limit_text(const IsaDifference& difference) {
  return difference.limit ? std::to_string(*difference.limit) : "";
}

std::string compilers_line(const IsaComparison& comparison) {
  return comparison.base_compiler == comparison.next_compiler
             ? comparison.next_compiler
             : fmt::format("{} -> {}", comparison.base_compiler, comparison.next_compiler);
}

}  // namespace

std::string isa_comparison_text(const IsaComparison& comparison, const TextStyle& style) {
  detail::Table table({{"kernel", Align::left},
                       {"number", Align::left},
                       {"base", Align::right},
                       {"new", Align::right},
                       {"change", Align::right},
                       {"budget", Align::right},
                       {"verdict", Align::left}});
  for (const IsaKernelComparison& kernel : comparison.changed) {
    if (kernel.presence != IsaPresence::both) {
      table.add({kernel_text(kernel), "", "", "", "", "", std::string(name_of(kernel.presence))});
    }
    for (const IsaDifference& d : kernel.differences) {
      const Ink ink = d.change == IsaChange::worse ? Ink::red : d.change == IsaChange::better ? Ink::green : Ink::none;
      table.add({kernel_text(kernel), d.quantity, std::to_string(d.base), std::to_string(d.next), delta_text(d),
                 limit_text(d), d.change == IsaChange::changed ? "" : std::string(name_of(d.change))},
                ink, 6);
    }
  }
  std::string text = table.rows() > 0 ? table.text(style.columns, style.colour) + "\n" : "";
  text += fmt::format("base {}, new {}\n", comparison.base_name, comparison.next_name);
  if (const std::string line = compilers_line(comparison); !line.empty()) {
    text += fmt::format("compiler {}\n", detail::one_line(line));
  }
  return text + verdict_line(comparison) + "\n";
}

std::string isa_comparison_markdown(const IsaComparison& comparison) {
  std::string text = fmt::format("### GPU kernels: {}\n\n", verdict_line(comparison));
  if (!comparison.changed.empty()) {
    text += "| kernel | number | base | new | change | budget | verdict |\n|---|---|---:|---:|---:|---:|---|\n";
  }
  for (const IsaKernelComparison& kernel : comparison.changed) {
    const std::string name = detail::escape_markdown(kernel_text(kernel));
    if (kernel.presence != IsaPresence::both) {
      text += fmt::format("| {} | | | | | | {} |\n", name, name_of(kernel.presence));
    }
    for (const IsaDifference& d : kernel.differences) {
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name, detail::escape_markdown(d.quantity), d.base,
                          d.next, delta_text(d), limit_text(d), name_of(d.change));
    }
  }
  if (const std::string line = compilers_line(comparison); !line.empty()) {
    text += fmt::format("\n- compiler {}\n", detail::escape_markdown(line));
  }
  return text;
}

Json isa_comparison_json(const IsaComparison& comparison) {
  Json json;
  json["schema"] = {{"name", std::string(kIsaComparisonSchema)}, {"version", std::string(kIsaComparisonVersion)}};
  json["exit_code"] = static_cast<int>(comparison.exit());
  json["base"] = {{"name", comparison.base_name}, {"compiler", comparison.base_compiler}};
  json["new"] = {{"name", comparison.next_name}, {"compiler", comparison.next_compiler}};
  json["counts"] = {{"kernels", comparison.kernels},
                    {"worse", comparison.count(IsaChange::worse)},
                    {"better", comparison.count(IsaChange::better)},
                    {"changed", comparison.count(IsaChange::changed)}};
  json["kernels"] = Json::array();
  for (const IsaKernelComparison& kernel : comparison.changed) {
    Json differences = Json::array();
    for (const IsaDifference& d : kernel.differences) {
      differences.push_back({{"number", d.quantity},
                             {"base", d.base},
                             {"new", d.next},
                             {"limit", d.limit ? Json(*d.limit) : Json(nullptr)},
                             {"change", std::string(name_of(d.change))}});
    }
    json["kernels"].push_back({{"target", kernel.target},
                               {"name", kernel.name},
                               {"presence", std::string(name_of(kernel.presence))},
                               {"differences", std::move(differences)}});
  }
  return json;
}

}  // namespace mla::reports
