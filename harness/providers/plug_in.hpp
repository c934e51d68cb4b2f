// Providers in modules of their own, found when the program starts: other people's kernels stand beside ours in one run
// without being part of this build.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/providers/interface/digest.hpp"
#include "harness/providers/provider.hpp"

namespace mla::harness {

/// What a module exports under the name `mla_plug_in`. `interface` stays the first member for ever: it is read before
/// anything else is believed.
struct PlugIn {
  const char* interface = nullptr;  // kPlugInInterface where the module was compiled
  const char* compiler = nullptr;   // kPlugInCompiler likewise
  void (*add_providers)(ProviderList&) = nullptr;
};

/// Digest of the headers that a module and the program share: a class laid out otherwise must not be called.
inline constexpr const char* kPlugInInterface = interface::kSourceDigest.data();
inline constexpr const char* kPlugInCompiler = __VERSION__;

inline constexpr const char* kPlugInSymbol = "mla_plug_in";
/// A module's file name is mla_provider_<name>.so.
inline constexpr std::string_view kPlugInPrefix = "mla_provider_";
/// Environment variable with more places to look, joined by ':'.
inline constexpr const char* kPlugInPathVariable = "MLA_PROVIDER_PATH";

/// A module that is not used, and why in one line.
struct RefusedPlugIn {
  std::string name;
  std::string reason;
};

struct PlugIns {
  ProviderList providers;
  std::vector<RefusedPlugIn> refused;
};

/// The program's own folder, then those that the environment variable names.
[[nodiscard]] std::vector<std::filesystem::path> plug_in_places();

/// Opens the modules in these places: a file, or every module of a folder in the order of their names. A module that
/// cannot be opened, exports no `mla_plug_in` or was built against another interface is refused, as is a place that
/// does not exist. Modules stay open until the program ends.
[[nodiscard]] PlugIns load_plug_ins(const std::vector<std::filesystem::path>& places);

}  // namespace mla::harness
