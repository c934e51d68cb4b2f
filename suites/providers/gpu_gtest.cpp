#include "harness/providers/hip/gpu.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace mla::harness::hip {
namespace {

// A driver's topology: a folder a node, with its properties.
class Topology {
 public:
  Topology() : folder_(std::filesystem::temp_directory_path() / ("mla-topology-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Topology() { std::filesystem::remove_all(folder_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  void add(const std::string& node, const std::string& version) const {
    std::filesystem::create_directories(folder_ / node);
    // An identifier above 2^63 stands before the version in a real file.
    std::ofstream(folder_ / node / "properties")
        << "cpu_cores_count 0\nunique_id 17293822569102704641\ngfx_target_version " << version << "\nvendor_id 4098\n";
  }
  [[nodiscard]] std::string arch() const { return amd_arch(folder_); }

 private:
  std::filesystem::path folder_;
};

TEST(AmdArch, IsThatOfTheFirstNodeThatIsAGpu) {
  const Topology topology;
  topology.add("10", "90402");
  topology.add("0", "0");  // a CPU
  topology.add("2", "90500");
  EXPECT_EQ(topology.arch(), "gfx950");
}

TEST(AmdArch, NamesAsTheCompilerDoes) {
  for (const auto& [version, name] :
       {std::pair{"90402", "gfx942"}, std::pair{"90010", "gfx90a"}, std::pair{"120001", "gfx1201"}}) {
    const Topology topology;
    topology.add("1", version);
    EXPECT_EQ(topology.arch(), name);
  }
}

TEST(AmdArch, IsEmptyWithoutDriverOrGpu) {
  EXPECT_EQ(amd_arch("/nonexistent/topology"), "");
  const Topology topology;
  topology.add("0", "0");
  EXPECT_EQ(topology.arch(), "");
}

}  // namespace
}  // namespace mla::harness::hip
