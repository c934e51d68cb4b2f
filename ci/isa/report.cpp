#include "ci/isa/report.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <regex>
#include <utility>

#include "ci/isa/disassembly.hpp"
#include "ci/isa/mix.hpp"
#include "ci/isa/notes.hpp"

namespace mla::isa {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Limits {
  std::string_view target;
  int lds_bytes;    // a compute unit
  int lds_granule;  // bytes by which LDS is handed out
};

// CDNA3 and CDNA4: LDS a compute unit; both have 4 SIMDs with 512 vector registers a lane, handed out by 8.
constexpr std::array<Limits, 2> kLimits{{{"gfx942", 64 * 1024, 512}, {"gfx950", 160 * 1024, 1280}}};
constexpr int kSimds = 4;
constexpr int kRegisters = 512;
constexpr int kRegisterGranule = 8;
constexpr int kMaxWaves = 8;

int round_up(int value, int step) {
  return (value + step - 1) / step * step;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : symbol;
}

ordered_json to_json(const Resources& r, std::string_view target) {
  return {{"vgpr", r.vgpr},
          {"agpr", r.agpr},
          {"sgpr", r.sgpr},
          {"lds_bytes", r.lds_bytes + r.dynamic_lds_bytes},
          {"dynamic_lds_bytes", r.dynamic_lds_bytes},
          {"scratch_bytes", r.scratch_bytes},
          {"vgpr_spills", r.vgpr_spills},
          {"sgpr_spills", r.sgpr_spills},
          {"dynamic_stack", r.dynamic_stack ? 1 : 0},
          {"workgroup_size", r.workgroup_size},
          {"waves_per_simd", waves_per_simd(r, target)}};
}

ordered_json to_json(const Mix& mix) {
  return {{"total", mix.total},
          {"matrix", mix.matrix},
          {"lds", mix.lds},
          {"global", mix.global},
          {"global_to_lds", mix.global_to_lds},
          {"scratch", mix.scratch},
          {"wait", mix.wait},
          {"barrier", mix.barrier},
          {"valu", mix.valu},
          {"accumulator_move", mix.accumulator_move},
          {"salu", mix.salu},
          {"branch", mix.branch},
          {"nop", mix.nop},
          {"matrix_flops", mix.matrix_flops},
          {"global_load_bytes", mix.global_load_bytes}};
}

const json& member(const json& object, const char* name, json::value_t type) {
  const auto found = object.find(name);
  if (found == object.end() || found->type() != type) {
    throw Error(fmt::format("budget: a rule has no {} '{}': {}", type == json::value_t::string ? "text" : "list", name,
                            object.dump()));
  }
  return *found;
}

std::regex pattern(const json& rule, const char* name) {
  const auto& text = member(rule, name, json::value_t::string).get_ref<const std::string&>();
  try {
    return std::regex(text);
  } catch (const std::regex_error&) {
    throw Error(fmt::format("budget: '{}' is not a regular expression: {}", name, text));
  }
}

struct Rule {
  std::regex kernel;
  std::regex target;
  std::string why;
  const json* limits = nullptr;

  [[nodiscard]] bool is_for_target(const ordered_json& record) const {
    return std::regex_match(record.at("target").get<std::string>(), target);
  }
  [[nodiscard]] bool is_for(const ordered_json& record) const {
    return is_for_target(record) && std::regex_match(record.at("name").get<std::string>(), kernel);
  }
};

std::vector<Rule> rules_of(const json& budget) {
  std::vector<Rule> rules;
  for (const json& rule : member(budget, "rules", json::value_t::array)) {
    const std::string why = rule.contains("why") ? member(rule, "why", json::value_t::string).get<std::string>() : "";
    rules.push_back({pattern(rule, "kernel"), pattern(rule, "target"), why, &rule});
  }
  return rules;
}

// The number at a dotted path such as "hot_loop.matrix"; a kernel without a loop has 0 of everything in it.
std::int64_t number_at(const ordered_json& kernel, const std::string& path) {
  std::string pointer = "/" + path;
  std::ranges::replace(pointer, '.', '/');
  const ordered_json::json_pointer at(pointer);
  if (path.starts_with("hot_loop.") && kernel.at("hot_loop").is_null()) return 0;
  if (!kernel.contains(at) || !kernel.at(at).is_number_integer()) {
    throw Error(fmt::format("budget: kernels have no number '{}'", path));
  }
  return kernel.at(at).get<std::int64_t>();
}

// Calls visit(side, path, limit) for every limit of a rule.
template <class Visit>
void each_limit(const Rule& rule, Visit&& visit) {
  for (const char* side : {"max", "min"}) {
    if (!rule.limits->contains(side)) continue;
    for (const auto& [path, limit] : rule.limits->at(side).items()) {
      if (!limit.is_number_integer()) throw Error(fmt::format("budget: the limit of '{}' is not an integer", path));
      visit(std::string_view(side), path, limit.template get<std::int64_t>());
    }
  }
}

void check_limits(const ordered_json& kernel, const Rule& rule, std::vector<std::string>& found) {
  each_limit(rule, [&](std::string_view side, const std::string& path, std::int64_t bound) {
    const std::int64_t got = number_at(kernel, path);
    if (side == "max" ? got <= bound : got >= bound) return;
    found.push_back(fmt::format("{} {}: {} is {}, budget {} {}{}", kernel.at("target").get<std::string>(),
                                kernel.at("name").get<std::string>(), path, got, side, bound,
                                rule.why.empty() ? "" : " (" + rule.why + ")"));
  });
}

const Launch* launch_of(const std::string& kernel, const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    for (const char* end : {" >(", ">("}) {
      if (kernel.find("entry<" + launch.kernel + end) != std::string::npos) return &launch;
    }
  }
  return nullptr;
}

}  // namespace

int waves_per_simd(const Resources& r, std::string_view target) {
  const auto limits = std::ranges::find(kLimits, target, &Limits::target);
  if (limits == kLimits.end()) throw Error(fmt::format("no occupancy limits known for target '{}'", target));
  int waves = kMaxWaves;
  const int registers = round_up(std::max(1, r.agpr > 0 ? round_up(r.vgpr, 4) + r.agpr : r.vgpr), kRegisterGranule);
  waves = std::min(waves, kRegisters / registers);
  if (const int lds = r.lds_bytes + r.dynamic_lds_bytes; lds > 0) {
    const int workgroups = limits->lds_bytes / round_up(lds, limits->lds_granule);
    const int workgroup_waves = round_up(r.workgroup_size, r.wavefront_size) / r.wavefront_size;
    waves = std::min(waves, (workgroups * workgroup_waves + kSimds - 1) / kSimds);
  }
  return waves;
}

std::vector<Launch> parse_launches(const json& list) {
  std::vector<Launch> launches;
  if (!list.is_array()) throw Error("launches: not a list");
  for (const json& entry : list) {
    try {
      launches.push_back({entry.at("kernel").get<std::string>(), entry.at("name").get<std::string>(),
                          entry.at("shared_bytes").get<int>()});
    } catch (const json::exception& error) {
      throw Error(fmt::format("launches: {}: {}", entry.dump(), error.what()));
    }
  }
  return launches;
}

std::vector<ordered_json> describe(std::string_view notes_text, std::string_view disassembly, const std::string& object,
                                   const std::vector<Launch>& launches) {
  const Notes notes = parse_notes(notes_text);
  const std::vector<Code> codes = parse_disassembly(disassembly);
  std::vector<ordered_json> kernels;
  for (Resources r : notes.kernels) {
    const auto code = std::ranges::find(codes, r.symbol, &Code::symbol);
    if (code == codes.end()) throw Error(fmt::format("{}: kernel {} has no code in the disassembly", object, r.symbol));
    const std::string kernel = demangled(r.symbol);
    const Launch* launch = launch_of(kernel, launches);
    if (launch != nullptr) r.dynamic_lds_bytes = launch->dynamic_lds_bytes;
    const auto loop = hot_loop(*code);
    kernels.push_back({{"target", notes.target},
                       {"name", launch != nullptr ? launch->name : kernel},
                       {"kernel", kernel},
                       {"symbol", r.symbol},
                       {"object", object},
                       {"resources", to_json(r, notes.target)},
                       {"code", to_json(mix_of(code->instructions, r.wavefront_size))},
                       {"hot_loop", loop ? to_json(mix_of(*loop, r.wavefront_size)) : ordered_json(nullptr)}});
  }
  return kernels;
}

std::vector<std::string> violations(const std::vector<ordered_json>& kernels, const json& budget) {
  std::vector<std::string> found;
  for (const Rule& rule : rules_of(budget)) {
    bool matched = false;
    bool target_there = false;
    for (const ordered_json& kernel : kernels) {
      target_there = target_there || rule.is_for_target(kernel);
      if (!rule.is_for(kernel)) continue;
      matched = true;
      check_limits(kernel, rule, found);
    }
    if (target_there && !matched) {
      found.push_back(fmt::format("budget rule matches no kernel: {}", rule.limits->dump()));
    }
  }
  return found;
}

void attach_budget(std::vector<ordered_json>& kernels, const json& budget) {
  const std::vector<Rule> rules = rules_of(budget);
  for (ordered_json& kernel : kernels) {
    ordered_json limits = {{"max", ordered_json::object()}, {"min", ordered_json::object()}};
    for (const Rule& rule : rules) {
      if (!rule.is_for(kernel)) continue;
      each_limit(rule, [&](std::string_view side, const std::string& path, std::int64_t bound) {
        ordered_json& of_side = limits.at(std::string(side));
        const auto known = of_side.find(path);
        const bool looser = known != of_side.end() &&
                            (side == "max" ? known->get<std::int64_t>() <= bound : known->get<std::int64_t>() >= bound);
        if (!looser) of_side[path] = bound;
      });
    }
    kernel["budget"] = std::move(limits);
  }
}

}  // namespace mla::isa
