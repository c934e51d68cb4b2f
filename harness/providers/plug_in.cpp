#include "harness/providers/plug_in.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "harness/core/program.hpp"

namespace mla::harness {

namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& module) {
  std::string name = module.stem().string();
  if (name.starts_with(kPlugInPrefix)) name.erase(0, kPlugInPrefix.size());
  return name;
}

std::vector<fs::path> modules_in(const fs::path& folder) {
  std::vector<fs::path> modules;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".so" && entry.path().filename().string().starts_with(kPlugInPrefix)) {
      modules.push_back(entry.path());
    }
  }
  std::sort(modules.begin(), modules.end());
  return modules;
}

void require_equal(const fs::path& module, const char* what, const char* theirs, std::string_view ours) {
  const std::string_view found = theirs == nullptr ? "(none)" : theirs;
  if (found == ours) return;
  throw std::runtime_error(
      fmt::format("{} was built for {} {}, this program for {}: rebuild it", module.string(), what, found, ours));
}

const PlugIn& open(const fs::path& module) {
  // A name without a slash would be searched for in the system's folders.
  void* handle = dlopen(fs::absolute(module).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  const void* symbol = dlsym(handle, kPlugInSymbol);
  if (symbol == nullptr) throw std::runtime_error(fmt::format("{} exports no {}", module.string(), kPlugInSymbol));
  const auto& plug_in = *static_cast<const PlugIn*>(symbol);
  require_equal(module, "provider interface", plug_in.interface, kPlugInInterface);
  require_equal(module, "compiler", plug_in.compiler, kPlugInCompiler);
  return plug_in;
}

void load(const fs::path& module, PlugIns& plug_ins) {
  try {
    open(module).add_providers(plug_ins.providers);
  } catch (const std::exception& error) {
    plug_ins.refused.push_back({name_of(module), error.what()});
  }
}

}  // namespace

std::vector<fs::path> plug_in_places() {
  std::vector<fs::path> places = {program_file().parent_path()};
  const char* more = std::getenv(kPlugInPathVariable);
  std::string_view rest = more == nullptr ? "" : more;
  while (!rest.empty()) {
    const std::string_view place = rest.substr(0, rest.find(':'));
    if (!place.empty()) places.emplace_back(place);
    rest.remove_prefix(std::min(rest.size(), place.size() + 1));
  }
  return places;
}

PlugIns load_plug_ins(const std::vector<fs::path>& places) {
  PlugIns plug_ins;
  for (const fs::path& place : places) {
    if (!fs::exists(place)) {
      plug_ins.refused.push_back({name_of(place), place.string() + " does not exist"});
    } else if (fs::is_directory(place)) {
      for (const fs::path& module : modules_in(place)) load(module, plug_ins);
    } else {
      load(place, plug_ins);
    }
  }
  return plug_ins;
}

}  // namespace mla::harness
