#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ci/isa/report.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// Exit status: 1 if a budget is broken, 4 for bad input, as in mla-harness.
constexpr int kOverBudget = 1;
constexpr int kUsage = 4;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw mla::isa::Error(fmt::format("cannot read {}", path.string()));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> notes_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".notes") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  if (found.empty()) throw mla::isa::Error(fmt::format("no *.notes in {}", folder.string()));
  return found;
}

std::vector<mla::isa::Launch> launches_in(const fs::path& file) {
  if (file.empty()) return {};
  return mla::isa::parse_launches(json::parse(read(file)));
}

std::vector<ordered_json> describe_all(const fs::path& folder, const std::vector<mla::isa::Launch>& launches) {
  std::vector<ordered_json> kernels;
  for (const fs::path& notes : notes_in(folder)) {
    fs::path disassembly = notes;
    disassembly.replace_extension(".s");
    for (ordered_json& kernel : mla::isa::describe(read(notes), read(disassembly), notes.stem().string(), launches)) {
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

void print_table(const std::vector<ordered_json>& kernels) {
  fmt::print("{:<7} {:>5} {:>5} {:>5} {:>7} {:>7} {:>6} {:>5}  {:<29} {}\n", "target", "vgpr", "agpr", "sgpr", "lds",
             "scratch", "spills", "waves", "hot loop: matrix/lds/mem/wait", "kernel");
  for (const ordered_json& k : kernels) {
    const ordered_json& r = k.at("resources");
    const ordered_json& loop = k.at("hot_loop");
    const auto of = [](const ordered_json& object, const char* name) { return object.at(name).get<int>(); };
    const std::string mix = loop.is_null() ? "-"
                                           : fmt::format("{}/{}/{}/{} of {}", of(loop, "matrix"), of(loop, "lds"),
                                                         of(loop, "global") + of(loop, "global_to_lds"),
                                                         of(loop, "wait"), of(loop, "total"));
    fmt::print("{:<7} {:>5} {:>5} {:>5} {:>7} {:>7} {:>6} {:>5}  {:<29} {}\n", k.at("target").get<std::string>(),
               of(r, "vgpr"), of(r, "agpr"), of(r, "sgpr"), of(r, "lds_bytes"), of(r, "scratch_bytes"),
               of(r, "vgpr_spills") + of(r, "sgpr_spills"), of(r, "waves_per_simd"), mix,
               k.at("name").get<std::string>());
  }
}

struct Arguments {
  std::string folder;
  std::string launches;
  std::string budget;
  std::string out = "isa.json";
  std::string compiler;
};

int report(const Arguments& arguments) {
  std::vector<ordered_json> kernels = describe_all(arguments.folder, launches_in(arguments.launches));
  const json budget = arguments.budget.empty() ? json{{"rules", json::array()}} : json::parse(read(arguments.budget));
  mla::isa::attach_budget(kernels, budget);
  std::ofstream file(arguments.out);
  file << ordered_json{{"schema", "mla-isa 1.1"}, {"compiler", arguments.compiler}, {"kernels", kernels}}.dump(1)
       << '\n';
  if (!file.flush()) throw mla::isa::Error(fmt::format("cannot write {}", arguments.out));
  print_table(kernels);
  const std::vector<std::string> found = mla::isa::violations(kernels, budget);
  for (const std::string& line : found) fmt::print(stderr, "over budget: {}\n", line);
  return found.empty() ? 0 : kOverBudget;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Registers, LDS, spills and instruction mix of compiled GPU kernels as JSON, checked against a budget");
  Arguments arguments;
  app.add_option("folder", arguments.folder,
                 "Holds NAME.notes (llvm-readelf --notes) and NAME.s (llvm-objdump -d), a pair an object")
      ->required();
  app.add_option("--launches", arguments.launches,
                 "JSON file of what the host launches the kernels with (mla-launch-shapes): names and dynamic LDS");
  app.add_option("--budget", arguments.budget, "JSON file of limits; exit status 1 if one is broken");
  app.add_option("--out", arguments.out, "Where to write the JSON")->capture_default_str();
  app.add_option("--compiler", arguments.compiler, "Compiler's version, copied into the JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    return report(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "mla-isa-report: error: {}\n", error.what());
    return kUsage;
  }
}
