#include "suites/mutation/table.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/runner/case_runner.hpp"
#include "suites/mutation/emulated_provider.hpp"
#include "suites/mutation/foreign_rules.hpp"
#include "suites/mutation/mutation_case.hpp"

namespace mla::mutation {

namespace {

// A partly filled last page, so that its tail can be read.
constexpr std::string_view kShape = "h=64,kv=4090";
// With this scale the distribution randn is N(0,1) in q and in kv, which public suites draw.
constexpr std::string_view kUnitScale = ",scale=0.041666668";

// Beside randn, which is ours as well as theirs.
const std::vector<std::string> kOurDistributions = {"sharp", "needle", "sink"};

// One set of contents with what the foreign rules need of it.
struct Data {
  explicit Data(const std::string& word, Contents contents = Contents::as_named)
      : mutated(word, contents), plain(plain_attention(mutated.inputs())) {}
  MutationCase mutated;
  std::vector<double> plain;
};

// The contents for one pair of types and one number of query tokens, made when first asked for.
struct Stage {
  Stage(const std::string& dtype, int q) {
    const std::string base = fmt::format("decode:{},q={},dtype={}", kShape, q, dtype);
    const bool bf16 = dtype == "bf16";
    randn = std::make_unique<Data>(base + ",dist=randn" + (bf16 ? std::string(kUnitScale) : ""));
    // fp8 contents of a tenth would need other scales; FlashMLA's own fp8 data are N(0,1)/10 only before quantisation.
    if (bf16) tenth = std::make_unique<Data>(base + ",dist=randn" + std::string(kUnitScale), Contents::tenth);
    for (const std::string& distribution : kOurDistributions) {
      ours.push_back(std::make_unique<Data>(base + ",dist=" + distribution));
    }
  }
  std::unique_ptr<Data> randn;
  std::unique_ptr<Data> tenth;
  std::vector<std::unique_ptr<Data>> ours;
};

struct StageKey {
  std::string dtype;
  int q;
  auto operator<=>(const StageKey&) const = default;
};

StageKey stage_for(const Fault& fault) {
  for (const StageKey& key : {StageKey{"bf16", 1}, StageKey{"bf16", 2}, StageKey{"fp8", 1}}) {
    const std::string word = fmt::format("decode:{},q={},dtype={}", kShape, key.q, key.dtype);
    const bool bites =
        harness::Problem::parse(word).visit([&](const auto& problem) { return inert_reason(fault, problem).empty(); });
    if (bites) return key;
  }
  return {"bf16", 1};
}

// Memory beyond the output, several launches and what was never written are outside what the foreign rules look at.
bool foreign_rules_apply(const Fault& fault) {
  switch (fault.mechanism) {
    case Mechanism::skip_last_row:
    case Mechanism::write_past_end:
    case Mechanism::race:
    case Mechanism::cached_answer: return false;
    default: return true;
  }
}

void add_names(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

// Runs the fault on `data`; true for each rule that refuses the result.
std::vector<bool> refusals(const Data& data, const Fault& fault, TableRow& row) {
  const harness::DecodeCheck check = data.mutated.run(fault);
  add_names(row.ours, caught_by(check));
  const Compared result = compared(data.mutated, data.plain);
  std::vector<bool> refused;
  for (const ForeignRule& rule : foreign_rules()) refused.push_back(!rule.accepts(result));
  return refused;
}

// What repeats and the rest of a whole case find, on a small problem.
std::vector<std::string> found_by_runner(const Fault& fault) {
  const harness::DecodeProblem problem =
      harness::Problem::parse("decode:h=4,kv=200").visit([](const auto& p) { return p; });
  harness::CaseOptions options;
  options.mode = harness::RunMode::check;
  const auto outcome = harness::CaseRunner(problem, options, {}).run(*emulated_provider(fault));
  if (!outcome || outcome->at("verdict") == "passed") return {};
  return {outcome->at("reason").at("kind").get<std::string>()};
}

TableRow make_row(const Fault& fault, Stage& stage, const StageKey& key) {
  TableRow row{fault, key.dtype, {}, {}, {}};
  row.on_own_data = refusals(*stage.randn, fault, row);
  row.on_our_data = row.on_own_data;
  TableRow foreign = row;  // what our checks say of foreign data is no part of the table
  if (stage.tenth) row.on_own_data[0] = refusals(*stage.tenth, fault, foreign)[0];  // FlashMLA is the first rule
  if (stage.randn->mutated.probes_catch(fault)) row.ours.emplace_back("probes");
  for (const auto& data : stage.ours) {
    const std::vector<bool> refused = refusals(*data, fault, row);
    for (std::size_t i = 0; i < refused.size(); ++i) row.on_our_data[i] = row.on_our_data[i] || refused[i];
  }
  return row;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Tiers in place of the kinds of failures that they lead to.
std::vector<std::string> tier_names(const std::vector<std::string>& names) {
  std::vector<std::string> tiers;
  for (const std::string& name : names) {
    const bool of_tier = name.ends_with("_bound") || name.ends_with("spread") || name == "slope";
    if (!of_tier) add_names(tiers, {name});
  }
  return tiers;
}

std::string family_title(int family) {
  switch (family) {
    case 0: return "none";
    case 1: return "token dropped";
    case 2: return "token counted twice";
    case 3: return "causal mask off";
    case 4: return "softmax scale off";
    case 5: return "gain of 1.01";
    case 6: return "V off by one token";
    case 7: return "wrong page, unread tail";
    case 8: return "stale split";
    case 9: return "split weights, rescaling";
    case 10: return "empty split weighs";
    case 11: return "one element";
    case 12: return "heads or rows swapped";
    case 13: return "rope ignored or twice";
    case 14: return "fp8 scale off";
    case 15: return "truncated, not rounded";
    case 16: return "coarser than declared";
    case 17: return "last row unwritten";
    case 18: return "byte past the end";
    case 19: return "race, 1 launch of 8";
    case 20: return "cached answer";
    case 21: return "zeros";
    case 22: return "wrong sign";
    case 23: return "attention sink";
    default: return "?";
  }
}

// "3/10", or for the clean kernel whether the rule let it pass.
std::string share(int family, int caught, int total) {
  if (family == 0) return caught == 0 ? "passes" : "false alarm";
  return fmt::format("{}/{}", caught, total);
}

}  // namespace

Table make_table() {
  Table table{std::string(kShape), {}};
  std::map<StageKey, std::vector<const Fault*>> by_stage;
  std::vector<const Fault*> order = {&clean()};
  for (const Fault& fault : faults()) order.push_back(&fault);
  for (const Fault* fault : order) by_stage[stage_for(*fault)].push_back(fault);
  std::map<const Fault*, TableRow> rows;
  // First: a process that has used OpenMP must not fork, and a stray write ends the process that makes it.
  for (const Fault* fault : order) {
    if (!foreign_rules_apply(*fault)) rows.emplace(fault, TableRow{*fault, "bf16", {}, {}, found_by_runner(*fault)});
  }
  // A stage at a time: its contents take memory.
  for (const auto& [key, members] : by_stage) {
    Stage stage(key.dtype, key.q);
    for (const Fault* fault : members) {
      if (!rows.contains(fault)) rows.emplace(fault, make_row(*fault, stage, key));
    }
  }
  for (const Fault* fault : order) table.rows.push_back(std::move(rows.at(fault)));
  return table;
}

std::string family_markdown(const Table& table) {
  std::string text = "| fault |";
  std::string rule = "|---|";
  for (const ForeignRule& foreign : foreign_rules()) {
    text += fmt::format(" {} |", foreign.name);
    rule += "---|";
  }
  text += " here |\n" + rule + "---|\n";
  for (std::size_t begin = 0; begin < table.rows.size();) {
    const int family = table.rows[begin].fault.family();
    std::size_t end = begin;
    while (end < table.rows.size() && table.rows[end].fault.family() == family) ++end;
    const auto total = static_cast<int>(end - begin);
    text += family == 0 ? "| none |" : fmt::format("| M{} {} |", family, family_title(family));
    for (std::size_t i = 0; i < foreign_rules().size(); ++i) {
      int own = 0;
      int our = 0;
      bool applies = false;
      for (std::size_t at = begin; at < end; ++at) {
        const TableRow& row = table.rows[at];
        if (row.on_own_data.empty()) continue;
        applies = true;
        own += row.on_own_data[i] ? 1 : 0;
        our += row.on_our_data[i] ? 1 : 0;
      }
      text += applies ? fmt::format(" {} · {} |", share(family, own, total), share(family, our, total)) : " – |";
    }
    int caught = 0;
    std::vector<std::string> names;
    for (std::size_t at = begin; at < end; ++at) {
      caught += table.rows[at].ours.empty() ? 0 : 1;
      add_names(names, tier_names(table.rows[at].ours));
    }
    std::sort(names.begin(), names.end());
    text += fmt::format(" {}{} |\n", share(family, caught, total), names.empty() ? "" : ": " + joined(names));
    begin = end;
  }
  return text;
}

std::string variant_markdown(const Table& table) {
  std::string text = "| fault | what | types |";
  std::string rule = "|---|---|---|";
  for (const ForeignRule& foreign : foreign_rules()) {
    text += fmt::format(" {} |", foreign.name);
    rule += "---|";
  }
  text += " here |\n" + rule + "---|\n";
  for (const TableRow& row : table.rows) {
    text += fmt::format("| {} | {} | {} |", row.fault.name, row.fault.what, row.dtype);
    for (std::size_t i = 0; i < foreign_rules().size(); ++i) {
      if (row.on_own_data.empty()) {
        text += " – |";
        continue;
      }
      const auto mark = [](bool caught) { return caught ? "caught" : "missed"; };
      text += fmt::format(" {} · {} |", mark(row.on_own_data[i]), mark(row.on_our_data[i]));
    }
    text += fmt::format(" {} |\n", row.ours.empty() ? "–" : joined(row.ours));
  }
  return text;
}

std::string json_text(const Table& table) {
  nlohmann::ordered_json document{{"problem", "decode:" + table.problem}, {"rules", nlohmann::ordered_json::array()}};
  for (const ForeignRule& rule : foreign_rules()) {
    document["rules"].push_back({{"name", rule.name}, {"source", rule.source}});
  }
  document["faults"] = nlohmann::ordered_json::array();
  for (const TableRow& row : table.rows) {
    document["faults"].push_back({{"name", row.fault.name},
                                  {"what", row.fault.what},
                                  {"dtype", row.dtype},
                                  {"caught_on_own_data", row.on_own_data},
                                  {"caught_on_our_data", row.on_our_data},
                                  {"caught_here", row.ours}});
  }
  return document.dump(1) + "\n";
}

}  // namespace mla::mutation
