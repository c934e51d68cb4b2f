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
          {"lds_bytes", r.lds_bytes},
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

void check_limits(const ordered_json& kernel, const json& rule, const char* side, std::vector<std::string>& found) {
  if (!rule.contains(side)) return;
  for (const auto& [path, limit] : rule.at(side).items()) {
    if (!limit.is_number_integer()) throw Error(fmt::format("budget: the limit of '{}' is not an integer", path));
    const std::int64_t got = number_at(kernel, path);
    const std::int64_t bound = limit.get<std::int64_t>();
    if (side == std::string_view("max") ? got <= bound : got >= bound) continue;
    found.push_back(fmt::format("{} {}: {} is {}, budget {} {}", kernel.at("target").get<std::string>(),
                                kernel.at("kernel").get<std::string>(), path, got, side, bound));
  }
}

}  // namespace

int waves_per_simd(const Resources& r, std::string_view target) {
  const auto limits = std::ranges::find(kLimits, target, &Limits::target);
  if (limits == kLimits.end()) throw Error(fmt::format("no occupancy limits known for target '{}'", target));
  int waves = kMaxWaves;
  const int registers = round_up(std::max(1, r.agpr > 0 ? round_up(r.vgpr, 4) + r.agpr : r.vgpr), kRegisterGranule);
  waves = std::min(waves, kRegisters / registers);
  if (r.lds_bytes > 0) {
    const int workgroups = limits->lds_bytes / round_up(r.lds_bytes, limits->lds_granule);
    const int workgroup_waves = round_up(r.workgroup_size, r.wavefront_size) / r.wavefront_size;
    waves = std::min(waves, (workgroups * workgroup_waves + kSimds - 1) / kSimds);
  }
  return waves;
}

std::vector<ordered_json> describe(std::string_view notes_text, std::string_view disassembly,
                                   const std::string& object) {
  const Notes notes = parse_notes(notes_text);
  const std::vector<Code> codes = parse_disassembly(disassembly);
  std::vector<ordered_json> kernels;
  for (const Resources& r : notes.kernels) {
    const auto code = std::ranges::find(codes, r.symbol, &Code::symbol);
    if (code == codes.end()) throw Error(fmt::format("{}: kernel {} has no code in the disassembly", object, r.symbol));
    const auto loop = hot_loop(*code);
    kernels.push_back({{"target", notes.target},
                       {"kernel", demangled(r.symbol)},
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
  for (const json& rule : member(budget, "rules", json::value_t::array)) {
    const std::regex kernel_pattern = pattern(rule, "kernel");
    const std::regex target_pattern = pattern(rule, "target");
    bool matched = false;
    for (const ordered_json& kernel : kernels) {
      if (!std::regex_match(kernel.at("kernel").get<std::string>(), kernel_pattern)) continue;
      if (!std::regex_match(kernel.at("target").get<std::string>(), target_pattern)) continue;
      matched = true;
      check_limits(kernel, rule, "max", found);
      check_limits(kernel, rule, "min", found);
    }
    if (!matched) found.push_back(fmt::format("budget rule matches no kernel: {}", rule.dump()));
  }
  return found;
}

}  // namespace mla::isa
