#include "harness/providers/plug_in.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "harness/core/program.hpp"
#include "harness/providers/registry.hpp"
#include "suites/support/command.hpp"

namespace mla::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

fs::path module_file(const std::string& name) {
  return fs::path(MLA_PLUG_INS) / ("mla_provider_" + name + ".so");
}

// The reason why the one module in this place is not used.
std::string refusal(const fs::path& place) {
  const PlugIns plug_ins = load_plug_ins({place});
  EXPECT_THAT(plug_ins.providers, IsEmpty());
  if (plug_ins.refused.size() != 1) return "refused " + std::to_string(plug_ins.refused.size());
  EXPECT_THAT(plug_ins.refused.front().reason, Not(HasSubstr("\n")));
  return plug_ins.refused.front().reason;
}

TEST(PlugIn, AddsTheProvidersOfAModule) {
  const PlugIns plug_ins = load_plug_ins({module_file("good")});
  EXPECT_THAT(plug_ins.refused, IsEmpty());
  ASSERT_EQ(plug_ins.providers.size(), 1u);
  EXPECT_EQ(plug_ins.providers.front()->name(), "nothing");
}

TEST(PlugIn, RefusesAModuleOfAnotherInterfaceBeforeCallingIt) {
  EXPECT_THAT(refusal(module_file("stale")),
              AllOf(HasSubstr("mla_provider_stale.so"), HasSubstr("provider interface 0123456789abcdef"),
                    HasSubstr(kPlugInInterface), HasSubstr("rebuild it")));
}

TEST(PlugIn, RefusesAModuleThatNeedsWhatTheProgramHasNot) {
  EXPECT_THAT(refusal(module_file("unresolved")),
              AllOf(HasSubstr("mla_provider_unresolved.so"), HasSubstr("undefined")));
}

TEST(PlugIn, RefusesASharedObjectWithoutTheSymbol) {
  EXPECT_THAT(refusal(module_file("nameless")), HasSubstr("exports no mla_plug_in"));
}

TEST(PlugIn, RefusesAFileThatIsNoSharedObject) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("mla_provider_text.so")) << "not a module";
  EXPECT_THAT(refusal(folder.path()), HasSubstr("mla_provider_text.so"));
}

TEST(PlugIn, RefusesAPlaceThatDoesNotExist) {
  EXPECT_THAT(refusal("/no/such/place"), HasSubstr("/no/such/place does not exist"));
}

TEST(PlugIn, ReadsOfAFolderOnlyWhatIsNamedAsAModule) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("readme.txt")) << "no module";
  std::ofstream(folder.file("other.so")) << "no module";
  const PlugIns plug_ins = load_plug_ins({folder.path()});
  EXPECT_THAT(plug_ins.providers, IsEmpty());
  EXPECT_THAT(plug_ins.refused, IsEmpty());
}

TEST(PlugIn, LooksInTheProgramsFolderThenWhereTheEnvironmentSays) {
  setenv(kPlugInPathVariable, "/one::/two", 1);
  const std::vector<fs::path> places = plug_in_places();
  unsetenv(kPlugInPathVariable);
  EXPECT_THAT(places, ElementsAre(fs::read_symlink("/proc/self/exe").parent_path(), "/one", "/two"));
}

// As in a chroot without /proc.
TEST(PlugIn, KnowsTheProgramsFolderWithoutTheKernelsLink) {
  const fs::path file = program_file("/no/such/link");
  EXPECT_TRUE(file.is_absolute()) << file;
  EXPECT_TRUE(fs::equivalent(file, fs::read_symlink("/proc/self/exe"))) << file;
}

TEST(PlugIn, StandsBesideTheBuiltInProvidersAndOnce) {
  setenv(kPlugInPathVariable, (module_file("good").string() + ":" + MLA_PLUG_INS).c_str(), 1);
  const ProviderList providers = builtin_providers();
  const std::vector<AbsentProvider> absent = absent_providers();
  unsetenv(kPlugInPathVariable);
  EXPECT_EQ(std::count_if(providers.begin(), providers.end(), [](const auto& p) { return p->name() == "nothing"; }), 1);
  EXPECT_EQ(std::count_if(absent.begin(), absent.end(), [](const auto& a) { return a.name == "stale"; }), 1);
}

// From outside: a refused module does not stop a run, and asking for it says where the reason is.
TEST(PlugIn, DoctorAndRunSpeakOfThemInOneLineEach) {
  const auto harness = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), MLA_HARNESS);
    setenv(kPlugInPathVariable, MLA_PLUG_INS, 1);
    const test::CommandResult result = test::run_command(arguments);
    unsetenv(kPlugInPathVariable);
    return result;
  };
  EXPECT_THAT(harness({"list"}).out, AllOf(HasSubstr("nothing"), HasSubstr("from a module")));
  const test::CommandResult doctor = harness({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("provider off   stale"), HasSubstr("provider off   unresolved")));
  const test::CommandResult run = harness({"run", "decode:", "--provider", "nothing", "--progress", "never"});
  EXPECT_THAT(run.out + run.err, HasSubstr("unsupported_operation")) << run.exit_code;
  const test::CommandResult refused = harness({"run", "decode:", "--provider", "stale"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--provider = 'stale'"), HasSubstr("doctor")));
}

}  // namespace
}  // namespace mla::harness
